package memories

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"matrix-tui/bot/recall"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
)

func memoryStatus(ctx context.Context, m *memoryCall) error {
	rooms, err := m.rooms()
	if err != nil {
		return err
	}
	all := []memory.Status{}
	for _, room := range rooms {
		if !memory.Exists(m.dir, room) {
			continue
		}
		if err := m.with(ctx, room, func(x *memory.Index) error {
			s, err := x.Status(ctx)
			all = append(all, s)
			return err
		}); err != nil {
			return err
		}
	}
	if m.json {
		return m.print(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(m.app.Stdout, "Nothing is remembered yet.")
		return nil
	}
	table := tabwriter.NewWriter(m.app.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "ROOM\tSIZE\tENTRIES\tCHUNKS\tCHANGED\tSOURCES")
	for _, s := range all {
		var sources []string
		for _, source := range memory.Sources {
			if n := s.Sources[source]; n > 0 {
				sources = append(sources, fmt.Sprintf("%s %d", source, n))
			}
		}
		changed := "-"
		if !s.Changed.IsZero() {
			changed = s.Changed.Local().Format(cli.Minute)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s\n", clean.Short(s.Room, 80), cli.SmallAmount(s.Bytes), s.Entries, s.Chunks,
			changed, cmp.Or(strings.Join(sources, ", "), "-"))
	}
	return table.Flush()
}

// memoryReindex builds indexes again from what is in the state folder.
func memoryReindex(ctx context.Context, m *memoryCall) error {
	rooms, err := m.rooms()
	if err != nil {
		return err
	}
	if len(rooms) == 0 {
		fmt.Fprintln(m.app.Stdout, "There is nothing to index.")
		return nil
	}
	return m.record(ctx, func(memories *recall.Memory, _ *state.Journal) error {
		for _, room := range rooms {
			if err := memories.Reindex(ctx, room); err != nil {
				return err
			}
			err := m.with(ctx, room, func(x *memory.Index) error {
				s, err := x.Status(ctx)
				if err == nil {
					fmt.Fprintf(m.app.Stdout, "%s: %d entries in %d chunks\n", clean.Short(room, 80), s.Entries, s.Chunks)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
