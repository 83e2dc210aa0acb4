package recall

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"matrix-tui/state"
	"matrix-tui/state/memory"
	"matrix-tui/state/transcripts"
)

// imported are the conversations from elsewhere.
func (m *Memory) imported(ctx context.Context, id string) (docs []memory.Document, err error) {
	origins, err := m.journal.Memory.Imports(ctx, id)
	if err != nil {
		return nil, err
	}
	names := map[string]int{}
	for _, origin := range origins {
		messages, err := m.journal.Memory.Imported(ctx, id, origin)
		if err != nil {
			return nil, err
		}
		docs = append(docs, importDocument(numbered(names, filepath.Base(origin)), messages))
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
		doc.Entries = append(doc.Entries, memory.Entry{From: one.Line, To: one.Line, Time: one.Time, Speaker: one.Speaker,
			Text: one.Text})
	}
	return doc
}

// transcribed reads what was said from the transcripts of a room and of those that it replaces.
func (m *Memory) transcribed(room string) (docs []memory.Document, err error) {
	left := int64(maxRefill)
	for _, one := range append([]string{room}, m.store.Predecessors(room)...) {
		lines, err := transcripts.Read(m.dir, one, left)
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
func (f *Filter) conversations(room string, lines []transcripts.Line) (docs []memory.Document) {
	byTask, order, path := map[string][]transcripts.Line{}, []string{}, ""
	for _, line := range lines {
		if line.Kind == transcripts.KindBegin {
			if path = conversationPath(room, line.Event); isCompaction(line.Text) {
				path = ""
			}
		}
		switch line.Kind {
		case transcripts.KindBegin, transcripts.KindUser, transcripts.KindAssistant:
			// what the tools printed is not worth remembering
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
	}
	for _, path := range order {
		docs = append(docs, f.transcribed(path, byTask[path]))
	}
	return docs
}

func (f *Filter) transcribed(path string, lines []transcripts.Line) memory.Document {
	doc := memory.Document{Source: memory.SourceTranscript, Path: path}
	var secrets []string // that people gave as answers
	asked := ""
	for _, line := range lines {
		e := memory.Entry{From: len(doc.Entries) + 1, To: len(doc.Entries) + 1, Time: line.Time, Speaker: "user",
			Event: line.Event}
		if line.Kind == transcripts.KindAssistant {
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
