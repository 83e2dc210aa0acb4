package recall

import (
	"context"
	"slices"
	"time"

	"matrix-tui/state/memory"
)

// lookTime bounds how long an agent waits for one look into the memory.
const lookTime = 10 * time.Second

// Search returns what a room's memory has that fits a query, best first, without what somebody planted to instruct a
// model. A room without memory has nothing.
func (m *Memory) Search(ctx context.Context, room string, q memory.Query) (hits []memory.Hit, err error) {
	if m == nil || !m.knows(room) {
		return nil, nil
	}
	q.Vector = m.Vector(ctx, askTime, room, q.Text) // while no index is open
	most := q.Max
	q.Max += maxPlanted
	err = m.use(ctx, room, lookTime, func(ctx context.Context, x *memory.Index) error {
		hits, err = x.Search(ctx, q)
		return err
	})
	hits = slices.DeleteFunc(hits, func(h memory.Hit) bool { return Instructs(h.Text) })
	return hits[:min(len(hits), most)], err
}

// maxPlanted is how many planted results a search can leave out without returning fewer.
const maxPlanted = 20

// Read returns the entries on some lines of a document in a room's memory, also without what was planted. It returns
// [memory.ErrNotFound] if there are none.
func (m *Memory) Read(ctx context.Context, room, path string, from, lines int) (entries []memory.Entry, err error) {
	if m == nil {
		return nil, nil
	}
	err = m.use(ctx, room, lookTime, func(ctx context.Context, x *memory.Index) error {
		entries, err = x.Read(ctx, path, from, lines)
		return err
	})
	return slices.DeleteFunc(entries, func(e memory.Entry) bool { return Instructs(e.Speaker + ": " + e.Text) }), err
}
