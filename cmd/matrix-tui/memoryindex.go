package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"matrix-tui/agent"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
)

func memoryReindex(ctx context.Context, m *memoryCall) error {
	if err := m.none("reindex"); err != nil {
		return err
	}
	rooms, err := m.indexed()
	if err != nil {
		return err
	}
	if m.room == "" {
		lines, err := m.lines()
		if err != nil {
			return err
		}
		rooms = nil
		for _, l := range lines {
			rooms = append(rooms, l.Room)
		}
	}
	if m.workspace != "" && m.room == "" {
		return &usageError{"memory reindex: -workspace needs -room"}
	}
	store, err := state.ReadStore(m.dir)
	if err != nil {
		return err
	}
	for _, room := range rooms {
		if err := m.with(ctx, room, func(x *memory.Index) error { return m.reindex(ctx, x, store) }); err != nil {
			return err
		}
	}
	if len(rooms) == 0 {
		fmt.Fprintln(m.app.stdout, "There is nothing to index.")
	}
	return nil
}

// reindex builds an index again: what only it has stays, and what is in the state folder is read again.
func (m *memoryCall) reindex(ctx context.Context, x *memory.Index, store *state.Store) error {
	if err := x.Rebuild(ctx); err != nil {
		return err
	}
	docs, err := transcriptDocument(m.dir, store, x.Room())
	if err == nil {
		_, err = x.Sync(ctx, memory.SourceTranscript, docs)
	}
	if err == nil {
		_, err = x.Sync(ctx, memory.SourceExecution, executionDocuments(store.Executions(x.Room())))
	}
	if err == nil && m.workspace != "" {
		err = m.indexWorkspace(ctx, x)
	}
	if err != nil {
		return err
	}
	s, err := x.Status(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(m.app.stdout, "%s: %d entries in %d chunks\n", clean.Short(x.Room(), 80), s.Entries, s.Chunks)
	return nil
}

// indexWorkspace indexes the memory files in a folder.
func (m *memoryCall) indexWorkspace(ctx context.Context, x *memory.Index) error {
	docs, skipped, err := memory.ReadFolder(m.workspace)
	if err != nil {
		return err
	}
	for _, one := range skipped {
		fmt.Fprintln(m.app.stderr, "matrix-tui: skipped "+clean.Short(one, 200))
	}
	for _, doc := range docs {
		if _, err := x.Put(ctx, doc); err != nil {
			return err
		}
	}
	return nil
}

// transcriptDocument reads what was said in a room's container.
func transcriptDocument(dir string, store *state.Store, room string) ([]memory.Document, error) {
	name := store.Container(room)
	if name == "" {
		name = sandbox.NameFor(room)
	}
	lines, err := state.ReadTranscript(dir, name, 2*state.MaxTranscript)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	doc := memory.Document{Path: name + ".jsonl"}
	for i, line := range lines {
		speaker := ""
		switch line.Kind {
		case state.KindBegin, state.KindUser:
			speaker = "user"
		case state.KindAssistant:
			speaker = "assistant"
		default:
			continue // what the tools printed is not worth remembering
		}
		if line.Room == "" || line.Room == room {
			doc.Entries = append(doc.Entries, memory.Entry{From: i + 1, To: i + 1, Time: line.Time, Speaker: speaker, Text: line.Text})
		}
	}
	return []memory.Document{doc}, nil
}

// executionDocuments are the tasks of a room, and the questions in them with their answers.
func executionDocuments(raw []json.RawMessage) []memory.Document {
	var docs []memory.Document
	for _, data := range raw {
		var e agent.Execution
		if json.Unmarshal(data, &e) != nil || e.ID == "" {
			continue
		}
		doc := memory.Document{Path: e.ID}
		add := func(speaker, text string) {
			n := len(doc.Entries) + 1
			doc.Entries = append(doc.Entries, memory.Entry{From: n, To: n, Time: e.UpdatedAt, Speaker: speaker, Text: text})
		}
		add("task", strings.Join(append(e.Transcript, e.Commands...), " "))
		for _, answer := range e.Answers {
			add("question", answer.Question)
			add("answer", answer.Answer)
		}
		for _, result := range e.Results {
			add("result", result.Output)
		}
		add(string(e.State), e.ErrorMessage)
		docs = append(docs, doc)
	}
	return docs
}
