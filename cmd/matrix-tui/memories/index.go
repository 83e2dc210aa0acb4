package memories

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
	rooms, err := m.indexed(ctx)
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
		fmt.Fprintln(m.app.Stdout, "There is nothing to index.")
	}
	return nil
}

// reindex builds an index again from what is in the state folder.
func (m *memoryCall) reindex(ctx context.Context, memories *recall.Memory, room string) error {
	if err := memories.Reindex(ctx, room); err != nil {
		return err
	}
	return m.with(ctx, room, func(x *memory.Index) error {
		s, err := x.Status(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(m.app.Stdout, "%s: %d entries in %d chunks\n", clean.Short(x.Room, 80), s.Entries, s.Chunks)
		return nil
	})
}
