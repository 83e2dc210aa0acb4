package memories

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/cli"
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
		return &cli.UsageError{Text: "memory reindex: -workspace needs -room"}
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
		fmt.Fprintln(m.app.Stdout, "There is nothing to index.")
	}
	return nil
}

// reindex builds an index again: what only it has stays, and what is in the state folder is read again.
func (m *memoryCall) reindex(ctx context.Context, x *memory.Index, store *state.Store) error {
	if err := x.Rebuild(ctx); err != nil {
		return err
	}
	recall, err := OpenMemory(ctx, m.cfg, store, zerolog.Nop())
	if err == nil {
		err = recall.Refill(ctx, x)
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
	fmt.Fprintf(m.app.Stdout, "%s: %d entries in %d chunks\n", clean.Short(x.Room(), 80), s.Entries, s.Chunks)
	return nil
}

// indexWorkspace indexes the memory files in a folder.
func (m *memoryCall) indexWorkspace(ctx context.Context, x *memory.Index) error {
	docs, skipped, err := memory.ReadFolder(m.workspace)
	if err != nil {
		return err
	}
	for _, one := range skipped {
		fmt.Fprintln(m.app.Stderr, "matrix-tui: skipped "+clean.Short(one, 200))
	}
	for _, doc := range docs {
		if _, err := x.Put(ctx, doc); err != nil {
			return err
		}
	}
	return nil
}
