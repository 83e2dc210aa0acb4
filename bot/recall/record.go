package recall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"matrix-tui/state"
	"matrix-tui/state/execution"
	"matrix-tui/state/memory"
)

// maxRefill bounds what is read of transcripts, the newest, in bytes: a task waits for it.
const maxRefill = 2 << 20

// executionPath names what was done for a task.
func executionPath(id string) string { return "execution/" + id }

// conversationPath names what was said in a task, also when it is read from a transcript.
func conversationPath(room, event string) string {
	sum := sha256.Sum256([]byte(room + "\x00" + event))
	return "conversation/" + hex.EncodeToString(sum[:8])
}

// documents are notes as the index has them, each alone.
func documents(notes []state.Note) (docs []memory.Document) {
	for _, n := range notes {
		doc := memory.Document{Source: memory.SourceNote, Path: "note/" + n.ID, Kind: string(n.Kind), Person: n.Scope, Weight: 0.75 + n.Salience/2}
		switch n.Kind {
		case state.Answered:
			doc.Source, doc.Path = memory.SourceAnswer, "answer/"+n.ID
		case state.Episodic:
			doc.Source, doc.Path = memory.SourceLog, "log/"+n.ID
		}
		doc.Entries = []memory.Entry{{From: 1, To: 1, Time: n.Time, Speaker: n.Scope, Text: n.Text, Event: n.Event, Alone: true}}
		docs = append(docs, doc)
	}
	return docs
}

// leastHashed is the shortest text, in bytes, that is unwelcome wherever it is said: others may say "yes".
const leastHashed = 12

// put stores documents, without what was forgotten.
func (m *Memory) put(ctx context.Context, x *memory.Index, docs ...memory.Document) error {
	forgotten, err := m.journal.Memory.Forgotten(ctx, x.Room())
	if err != nil {
		return err
	}
	for i := range docs {
		docs[i].Entries = slices.DeleteFunc(docs[i].Entries, func(e memory.Entry) bool {
			return len(e.Text) >= leastHashed && forgotten.Has(e.Text)
		})
	}
	_, err = x.Put(ctx, docs...)
	return err
}

// Fill stores what the record and the transcripts of a room have and its index lacks.
func (m *Memory) Fill(ctx context.Context, x *memory.Index) error {
	id, fresh := x.Room(), x.Unfilled()
	docs, err := m.recorded(ctx, x)
	if err != nil {
		return err
	}
	for _, raw := range m.store.Executions.In(id) {
		e, ok := finished(raw)
		if !ok {
			continue
		}
		known, err := x.Has(ctx, memory.SourceExecution, executionPath(e.ID))
		if err != nil {
			return err
		}
		if !known {
			l := m.filter.observe(taskOf(e))
			answers := slices.DeleteFunc(l.notes, func(n state.Note) bool { return n.Kind != state.Answered })
			added, err := m.journal.Memory.AddNotes(ctx, answers...) // if the journal is new
			if err != nil {
				return err
			}
			docs = append(append(docs, l.docs[1:]...), documents(added)...) // the first is the conversation
			fresh = true
		}
	}
	if fresh {
		more, err := m.transcribed(id, func(state.Line) bool { return true })
		if err != nil {
			return err
		}
		for _, doc := range more {
			if known, err := x.Has(ctx, doc.Source, doc.Path); err != nil {
				return err
			} else if !known {
				docs = append(docs, doc)
			}
		}
	}
	if err := m.put(ctx, x, docs...); err != nil {
		return err
	}
	return x.Filled(ctx)
}

// mostRecent is how many notes an index that was filled before may lack.
const mostRecent = 100

// recorded are the notes and imports of a room that its index may lack.
func (m *Memory) recorded(ctx context.Context, x *memory.Index) ([]memory.Document, error) {
	id := x.Room()
	notes, err := m.journal.Memory.Notes(ctx, id)
	if err != nil {
		return nil, err
	}
	if !x.Unfilled() {
		notes = notes[:min(len(notes), mostRecent)]
	}
	docs := documents(notes)
	origins, err := m.journal.Memory.Imports(ctx, id)
	if err != nil {
		return nil, err
	}
	names := map[string]int{}
	for _, origin := range origins {
		path := numbered(names, filepath.Base(origin))
		if known, err := x.Has(ctx, memory.SourceImport, path); err != nil {
			return nil, err
		} else if known {
			continue
		}
		messages, err := m.journal.Memory.Imported(ctx, id, origin)
		if err != nil {
			return nil, err
		}
		docs = append(docs, importDocument(path, messages))
	}
	return docs, nil
}

// numbered returns a name that no import before has.
func numbered(names map[string]int, name string) string {
	if names[name]++; names[name] == 1 {
		return name
	}
	end := filepath.Ext(name)
	return strings.TrimSuffix(name, end) + "-" + strconv.Itoa(names[name]) + end
}

func importDocument(path string, messages []state.Imported) memory.Document {
	doc := memory.Document{Source: memory.SourceImport, Path: path}
	for _, one := range messages {
		doc.Entries = append(doc.Entries, memory.Entry{From: one.Line, To: one.Line, Time: one.Time, Speaker: one.Speaker, Text: one.Text})
	}
	return doc
}

// transcribed reads what was said from the transcripts of a room and of those that it replaces: the tasks with a line that
// is wanted.
func (m *Memory) transcribed(room string, want func(state.Line) bool) (docs []memory.Document, err error) {
	left := int64(maxRefill)
	for _, one := range append([]string{room}, m.store.Predecessors(room)...) {
		lines, err := state.ReadTranscript(m.dir, one, left)
		if err != nil {
			return nil, err
		}
		docs = append(m.filter.conversations(one, lines, want), docs...) // the oldest first
		for _, line := range lines {
			left -= int64(len(line.Text))
		}
		if left <= 0 {
			break
		}
	}
	return docs, nil
}

// conversations reads what was said from a transcript, task by task.
func (f *Filter) conversations(room string, lines []state.Line, want func(state.Line) bool) (docs []memory.Document) {
	byTask, order, path := map[string][]state.Line{}, []string{}, ""
	wanted := map[string]bool{}
	for _, line := range lines {
		if line.Kind == state.KindBegin {
			if path = conversationPath(room, line.Event); isCompaction(line.Text) {
				path = ""
			}
		}
		switch line.Kind {
		case state.KindBegin, state.KindUser, state.KindAssistant: // what the tools printed is not worth remembering
		default:
			continue
		}
		if path == "" {
			continue
		}
		if len(byTask[path]) == 0 {
			order = append(order, path)
		}
		byTask[path] = append(byTask[path], line)
		wanted[path] = wanted[path] || want(line)
	}
	for _, path := range order {
		if wanted[path] {
			docs = append(docs, f.transcribed(path, byTask[path]))
		}
	}
	return docs
}

func (f *Filter) transcribed(path string, lines []state.Line) memory.Document {
	doc := memory.Document{Source: memory.SourceTranscript, Path: path}
	var secrets []string // that people gave as answers
	asked := ""
	for _, line := range lines {
		e := memory.Entry{From: len(doc.Entries) + 1, To: len(doc.Entries) + 1, Time: line.Time, Speaker: "user", Event: line.Event}
		if line.Kind == state.KindAssistant {
			e.Speaker, e.Event, asked = "assistant", "", line.Text
		} else if AsksForSecret(asked) {
			secrets, asked = append(secrets, strings.TrimSpace(line.Text)), ""
			continue
		}
		e.Text = f.keep(line.Text, secrets...)
		doc.Entries = append(doc.Entries, e)
	}
	return doc
}

// Relearn stores a task again of which an edit has changed the words: the conversation with a message, and what was done
// and answered.
func (m *Memory) Relearn(ctx context.Context, room, event string) error {
	if !m.knows(room) {
		return nil
	}
	defer m.embedSoon(room)
	docs, err := m.transcribed(room, func(line state.Line) bool { return line.Event == event })
	if err != nil {
		return err
	}
	for _, raw := range m.store.Executions.In(room) {
		e, ok := finished(raw)
		if !ok || !isAbout(e, event) {
			continue
		}
		l := m.filter.observe(taskOf(e))
		added, err := m.journal.Memory.AddNotes(ctx, l.notes...)
		if err != nil {
			return err
		}
		docs = append(append(docs, l.docs[1:]...), documents(added)...)
	}
	return m.use(ctx, room, writeTime, func(ctx context.Context, x *memory.Index) error {
		return m.put(ctx, x, docs...)
	})
}

func isAbout(e execution.Execution, event string) bool {
	about := e.TaskEvent == event
	for _, a := range e.Answers {
		about = about || a.Event == event
	}
	return about
}

// finished parses an execution of state.json. It returns false for one that has not ended, or from which nothing is
// learned.
func finished(raw json.RawMessage) (e execution.Execution, ok bool) {
	err := json.Unmarshal(raw, &e)
	return e, err == nil && e.ID != "" && !isCompaction(strings.Join(e.Transcript, "")) && (e.State == execution.Done || e.State == execution.Failed)
}

// isCompaction reports whether a task only summarises a session: nothing is learned from it.
func isCompaction(text string) bool { return strings.HasPrefix(strings.ToLower(text), "!compact") }

// taskOf is what an execution tells about its task.
func taskOf(e execution.Execution) Task {
	t := Task{Room: e.Room, ID: e.ID, Event: e.TaskEvent, By: localpart(e.Asker), Began: e.CreatedAt, Ended: e.UpdatedAt, Success: e.State == execution.Done, Result: e.ErrorMessage}
	said := e.Transcript
	if len(said) == 0 { // its text is a plan
		said = []string{strings.Join(e.Commands, "\n")}
	}
	for i, text := range said {
		one := Said{By: t.By, Text: text}
		if i == 0 {
			one.Event = e.TaskEvent
		}
		t.Said = append(t.Said, one)
	}
	for _, a := range e.Answers {
		t.Answers = append(t.Answers, Answer{a.Question, a.Answer, localpart(a.By), a.Event})
	}
	for _, r := range e.Results {
		t.Result = r.Output
	}
	return t
}

func localpart(user string) string {
	local, _, _ := strings.Cut(strings.TrimPrefix(user, "@"), ":")
	return local
}
