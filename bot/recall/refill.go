package recall

import (
	"context"
	"encoding/json"
	"strings"

	"matrix-tui/state"
	"matrix-tui/state/execution"
	"matrix-tui/state/memory"
)

// maxRefill bounds what is read of transcripts, the newest, in bytes: a task waits for it.
const maxRefill = 2 << 20

// Refill stores what the transcripts and state.json have and the index lacks. Its text
// is filtered like that of a task.
func (m *Memory) Refill(ctx context.Context, x *memory.Index) error {
	err := m.refill(ctx, x)
	if err == nil {
		m.files(x.Room()).stale.Store(true)
	}
	return err
}

// LacksFiles reports whether the index of a room is new, so that it needs Sync to know the files.
func (m *Memory) LacksFiles(room string) bool { return m != nil && m.files(room).stale.Load() }

func (m *Memory) refill(ctx context.Context, x *memory.Index) error {
	room := x.Room()
	known := map[string]bool{}
	for _, source := range []memory.Source{memory.SourceTranscript, memory.SourceExecution, memory.SourceAnswer} {
		paths, err := x.Paths(ctx, source)
		if err != nil {
			return err
		}
		for path := range paths {
			known[path] = true
		}
	}
	docs, err := m.transcribed(room)
	if err != nil {
		return err
	}
	for _, raw := range m.store.Executions(room) {
		if e, ok := finished(raw); ok {
			l := m.filter.observe(taskOf(e))
			docs = append(docs, l.docs[1:]...) // the first is the conversation
		}
	}
	var missing []memory.Document
	for _, doc := range docs {
		if !known[doc.Path] {
			missing = append(missing, doc)
		}
	}
	_, err = x.Put(ctx, missing...)
	return err
}

// transcribed reads what was said from the transcripts of a room and of those that it replaces.
func (m *Memory) transcribed(room string) (docs []memory.Document, err error) {
	left := int64(maxRefill)
	for _, one := range append([]string{room}, m.store.Predecessors(room)...) {
		lines, err := state.ReadTranscript(m.dir, one, left)
		if err != nil {
			return nil, err
		}
		docs = append(m.filter.conversations(one, lines), docs...) // the oldest first
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
func (f *Filter) conversations(room string, lines []state.Line) (docs []memory.Document) {
	at := map[string]int{} // place in docs, by path
	path, asked := "", ""
	secrets := map[string][]string{} // that people gave as answers, by path
	for _, line := range lines {
		who := "user"
		switch line.Kind {
		case state.KindBegin:
			if path = conversationPath(room, line.Event); isCompaction(line.Text) {
				path = ""
			}
		case state.KindUser:
		case state.KindAssistant:
			who = "assistant"
		default:
			continue // what the tools printed is not worth remembering
		}
		if path == "" {
			continue
		}
		secret := line.Kind == state.KindUser && AsksForSecret(asked)
		asked = ""
		if line.Kind == state.KindAssistant {
			asked = line.Text
		}
		if secret {
			secrets[path] = append(secrets[path], strings.TrimSpace(line.Text))
			continue
		}
		i, ok := at[path]
		if !ok {
			i = len(docs)
			at[path] = i
			docs = append(docs, memory.Document{Source: memory.SourceTranscript, Path: path, Origin: memory.OriginTask})
		}
		e := memory.Entry{From: len(docs[i].Entries) + 1, To: len(docs[i].Entries) + 1, Time: line.Time, Speaker: who, Text: f.keep(line.Text, secrets[path]...)}
		if line.Kind != state.KindAssistant {
			e.Event = line.Event
		}
		docs[i].Entries = append(docs[i].Entries, e)
	}
	return docs
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
