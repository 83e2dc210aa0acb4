package recall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"matrix-tui/state"
	"matrix-tui/state/memory"
	"matrix-tui/state/transcripts"
)

// imported are the conversations from elsewhere.
func (m *indexes) imported(ctx context.Context, id string) (docs []memory.Document, err error) {
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

// maxSpoken bounds what is read of transcripts, the newest, in bytes.
const maxSpoken = 16 << 20

// isSame reports whether the index has a conversation of an origin, and all of it may stay.
type isSame func(path, origin string, lines []transcripts.Line) bool

// transcribed reads what was said from the transcripts of a room and of those that it replaces. A room that another one
// replaces has none.
func (m *indexes) transcribed(ctx context.Context, room string, same isSame) (docs []memory.Document, err error) {
	if m.store.SuccessorOf(room) != room {
		return nil, nil
	}
	left := maxSpoken
	for _, one := range append([]string{room}, m.store.Predecessors(room)...) {
		lines, err := transcripts.Spoken(m.dir, one, left)
		if err != nil {
			return nil, err
		}
		said := m.filter.conversations(ctx, one, lines, same)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read transcripts: %w", ctx.Err())
		}
		docs = append(said, docs...) // the oldest first
		for _, line := range lines {
			left -= len(line.Text)
		}
		if left <= 0 {
			break
		}
	}
	return docs, nil
}

// conversations reads what was said from a transcript, task by task, until ctx ends.
func (f *Filter) conversations(ctx context.Context, room string, lines []transcripts.Line,
	same isSame) (docs []memory.Document) {
	byTask, order, path := map[string][]transcripts.Line{}, []string{}, ""
	for _, line := range lines {
		if line.Kind == transcripts.KindBegin {
			if path = conversationPath(room, line.Event); isCompaction(line.Text) {
				path = ""
			}
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
		if ctx.Err() != nil {
			break
		}
		lines, sum := byTask[path], sha256.New()
		for _, line := range lines {
			fmt.Fprintf(sum, "%s %q %q %d ", line.Kind, line.Event, line.Text, line.Time.UnixNano())
		}
		doc := memory.Document{Path: path, Origin: hex.EncodeToString(sum.Sum(nil)[:16]), Same: true}
		if !same(path, doc.Origin, lines) { // the filter takes a second for 200 KB
			doc = f.transcribed(doc, lines)
		}
		docs = append(docs, doc)
	}
	return docs
}

func (f *Filter) transcribed(doc memory.Document, lines []transcripts.Line) memory.Document {
	doc.Source, doc.Same = memory.SourceTranscript, false
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
