package recall

import (
	"context"

	"matrix-tui/state"
	"matrix-tui/state/memory"
)

// TakeOld takes over what only the indexes of an earlier release had. A failure is logged, and tried again with the
// next start. Remove it with [memory.TakeOld].
func (m *Memory) TakeOld(ctx context.Context) {
	err := memory.TakeOld(ctx, m.dir, func(old memory.Old) error { return m.takeOld(ctx, old) })
	m.warn(ctx, "", "cannot take over the memory of the release before", err)
}

func (m *Memory) takeOld(ctx context.Context, old memory.Old) error {
	for _, doc := range old.Documents {
		if doc.Source == memory.SourceImport {
			if err := m.takeImport(ctx, old.Room, doc); err != nil {
				return err
			}
			continue
		}
		kind, ok := KindOf(doc.Path)
		if !ok {
			kind = state.Semantic
		}
		for _, e := range doc.Entries {
			_, err := m.journal.Memory.AddNotes(ctx, state.Note{Room: old.Room, Kind: kind, Text: e.Text, Event: e.Event, Time: e.Time,
				Source: state.Added, Salience: 1, File: mainFile})
			if err != nil {
				return err
			}
		}
	}
	return m.journal.Memory.KeepHashes(ctx, old.Room, old.Forgotten...)
}

func (m *Memory) takeImport(ctx context.Context, room string, doc memory.Document) error {
	messages := make([]state.Imported, 0, len(doc.Entries))
	for _, e := range doc.Entries {
		messages = append(messages, state.Imported{Line: e.From, Time: e.Time, Speaker: e.Speaker, Text: e.Text})
	}
	return m.journal.Memory.Import(ctx, room, doc.Path, messages)
}
