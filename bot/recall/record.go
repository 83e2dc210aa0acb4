package recall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"matrix-tui/agent"
	"matrix-tui/state"
	"matrix-tui/state/memory"
	"matrix-tui/state/scrub"
	"matrix-tui/state/transcripts"
)

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
		doc := memory.Document{Source: memory.SourceNote, Path: "note/" + n.ID, Kind: string(n.Kind), Person: n.Scope,
			Weight: 0.75 + n.Salience/2}
		switch n.Kind {
		case state.Answered:
			doc.Source, doc.Path = memory.SourceAnswer, "answer/"+n.ID
		case state.Episodic:
			doc.Source, doc.Path = memory.SourceLog, "log/"+n.ID
		}
		doc.Entries = []memory.Entry{{From: 1, To: 1, Time: n.Time, Speaker: n.Scope, Text: n.Text, Event: n.Event,
			Alone: true}}
		docs = append(docs, doc)
	}
	return docs
}

// leastHashed is the shortest text, in bytes, that is unwelcome wherever it is said: others may say "yes".
const leastHashed = 12

// put stores documents, without what was forgotten.
func (m *indexes) put(ctx context.Context, x *memory.Index, docs ...memory.Document) error {
	docs, err := m.permitted(ctx, x.Room, docs)
	if err != nil {
		return err
	}
	return x.Put(ctx, docs...)
}

// permitted returns documents without what their room has forgotten.
func (m *indexes) permitted(ctx context.Context, room string, docs []memory.Document) ([]memory.Document, error) {
	forgotten, err := m.journal.Memory.Forgotten(ctx, room)
	for i := range docs {
		docs[i].Entries = slices.DeleteFunc(docs[i].Entries, func(e memory.Entry) bool {
			return len(e.Text) >= leastHashed && forgotten.Has(e.Text)
		})
	}
	return docs, err
}

// Fill rebuilds an index that must be, and adds to another what it may lack after a crash: the newest notes and tasks.
func (m *indexes) Fill(ctx context.Context, x *memory.Index) error {
	if x.Unfilled() {
		origins, err := x.Origins(ctx)
		if err != nil {
			return err
		}
		docs, err := m.all(ctx, x.Room, origins)
		if err != nil {
			return err
		}
		err = x.Rebuild(ctx, docs...)
		if errors.Is(err, memory.ErrFull) {
			m.warn(ctx, x.Room, "the index of a room is full: it lacks some notes or imports", err)
			return nil
		}
		return err
	}
	docs, err := m.done(ctx, x.Room, func(path string) (bool, error) { return x.Has(ctx, path) })
	if err != nil {
		return err
	}
	notes, err := m.journal.Memory.Notes(ctx, x.Room)
	if err != nil {
		return err
	}
	return m.put(ctx, x, append(docs, documents(notes[:min(len(notes), mostRecent)])...)...)
}

// all is what the index of a room has to have. Conversations of one of some origins, by path, are the Same.
func (m *indexes) all(ctx context.Context, room string, origins map[string]string) ([]memory.Document, error) {
	docs, err := m.done(ctx, room, func(string) (bool, error) { return false, nil })
	if err != nil {
		return nil, err
	}
	notes, err := m.journal.Memory.Notes(ctx, room)
	if err != nil {
		return nil, err
	}
	forgotten, err := m.journal.Memory.Forgotten(ctx, room)
	if err != nil {
		return nil, err
	}
	said, err := m.transcribed(ctx, room, func(path, origin string, lines []transcripts.Line) bool {
		return origins[path] == origin &&
			!slices.ContainsFunc(lines, func(line transcripts.Line) bool { return forgotten.Has(line.Text) })
	})
	if err != nil {
		return nil, err
	}
	imports, err := m.imported(ctx, room)
	if err != nil {
		return nil, err
	}
	return m.permitted(ctx, room, slices.Concat(docs, documents(notes), said, imports))
}

// done is what was done for the tasks of a room, except for those that are known.
func (m *indexes) done(ctx context.Context, room string,
	known func(path string) (bool, error)) (docs []memory.Document, err error) {
	tasks, err := m.finished(ctx, room)
	if err != nil {
		return nil, err
	}
	for _, rec := range tasks {
		if is, err := known(executionPath(rec.Execution)); err != nil {
			return nil, err
		} else if is {
			continue
		}
		l := m.filter.observe(taskOf(room, rec))
		answers := slices.DeleteFunc(l.notes, func(n state.Note) bool { return n.Kind != state.Answered })
		if _, err := m.journal.Memory.AddNotes(ctx, answers...); err != nil { // if the journal is new
			return nil, err
		}
		docs = append(docs, l.docs[1:]...) // the first is the conversation, of which the transcript has more
	}
	return docs, nil
}

// Unlearn keeps what a scrub hits out of the index, also if the history and the transcript still have it. It returns
// how many entries that are.
func (m *Memory) Unlearn(ctx context.Context, room string, scrub *scrub.Scrub) (n int, err error) {
	docs, err := m.all(ctx, room, nil)
	if err != nil {
		return 0, err
	}
	var texts []string
	var hit []memory.Document
	for _, doc := range docs {
		for _, e := range doc.Entries {
			if _, is := scrub.Text(e.Text); is {
				texts, hit = append(texts, e.Text), append(hit, memory.Document{Path: doc.Path})
			}
		}
	}
	if err := m.journal.Memory.KeepForgotten(ctx, room, texts...); err != nil {
		return 0, err
	}
	err = m.with(ctx, room, func(x *memory.Index) error { return x.Put(ctx, hit...) })
	return len(texts), errors.Join(err, m.Rebuild(ctx, room))
}

// mostRecent is how many notes an index that was filled before may lack.
const mostRecent = 100

// Relearn adds again what is noted of a task of which an edit has changed the words, after the record was changed. The
// index is built again.
func (m *Memory) Relearn(ctx context.Context, room, event string) error {
	if m == nil {
		return nil
	}
	tasks, err := m.finished(ctx, room)
	if err != nil {
		return err
	}
	for _, rec := range tasks {
		if isAbout(rec, event) {
			if _, err := m.journal.Memory.AddNotes(ctx, m.filter.observe(taskOf(room, rec)).notes...); err != nil {
				return err
			}
		}
	}
	return m.Settle(ctx, room)
}

func isAbout(rec state.Task, event string) bool {
	return rec.Event == event || slices.ContainsFunc(rec.Answers, func(a state.Answer) bool { return a.Event == event })
}

// finished returns the newest tasks of a room and of those that it replaces that have a result, oldest first. A room
// that another one replaces has none.
func (m *indexes) finished(ctx context.Context, room string) (all []state.Task, err error) {
	if m.store.SuccessorOf(room) != room {
		return nil, nil
	}
	for _, home := range append([]string{room}, m.store.Predecessors(room)...) {
		tasks, err := m.journal.Tasks.Newest(ctx, home, state.KeptTasks)
		if err != nil {
			return nil, err
		}
		all = append(all, tasks...)
	}
	slices.Reverse(all)
	return slices.DeleteFunc(all, func(rec state.Task) bool {
		return rec.Ended == "" || rec.Compact || isCompaction(rec.Text)
	}), nil
}

// isCompaction reports whether a task only summarises a session: nothing is learned from it.
func isCompaction(text string) bool { return strings.HasPrefix(strings.ToLower(text), "!compact") }

// taskOf is what is kept of a task.
func taskOf(room string, rec state.Task) Task {
	t := Task{Room: room, ID: rec.Execution, Began: rec.Created, Ended: rec.Updated,
		Success: rec.Ended == string(agent.Completed), Result: rec.Result}
	if rec.Source != state.FromHTTP {
		t.Event, t.By = rec.Event, localpart(rec.Requester)
	}
	if !t.Success {
		t.Result = rec.Error
	}
	text := rec.Text
	if text == "" {
		text = strings.Join(rec.Commands, "\n")
	}
	t.Said = append(t.Said, Said{Event: t.Event, By: t.By, Text: text})
	for _, a := range rec.Answers {
		t.Answers = append(t.Answers, Answer{a.Question, a.Answer, localpart(a.By), a.Event})
	}
	for _, c := range rec.Calls {
		t.Calls = append(t.Calls, Call(c))
	}
	return t
}

func localpart(user string) string {
	local, _, _ := strings.Cut(strings.TrimPrefix(user, "@"), ":")
	return local
}
