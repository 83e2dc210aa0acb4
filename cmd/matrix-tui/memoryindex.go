package main

import (
	"context"
	"fmt"

	"matrix-tui/bot/recall"
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
	err = m.record(ctx, func(memories *recall.Memory, _ *state.Journal) error {
		for _, room := range rooms {
			if err := m.reindex(ctx, memories, room); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(rooms) == 0 {
		fmt.Fprintln(m.app.stdout, "There is nothing to index.")
	}
	return nil
}

// reindex builds an index again from what is in the state folder.
func (m *memoryCall) reindex(ctx context.Context, memories *recall.Memory, room string) error {
	if err := memories.Rebuild(ctx, room); err != nil {
		return err
	}
	return m.with(ctx, room, func(x *memory.Index) error {
		if m.workspace != "" {
			if err := m.indexWorkspace(ctx, x); err != nil {
				return err
			}
		}
		s, err := x.Status(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(m.app.stdout, "%s: %d entries in %d chunks\n", clean.Short(x.Room(), 80), s.Entries, s.Chunks)
		return nil
	})
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
