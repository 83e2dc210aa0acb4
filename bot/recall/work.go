package recall

import (
	"context"
	"slices"

	"matrix-tui/state/memory"
)

// embedSoon makes Work fetch the vectors of a room, if there are any. It never waits.
func (m *Memory) embedSoon(room string) {
	if m.embedder != nil {
		m.soon(room)
	}
}

// soon makes Work look at a room. It never waits.
func (m *Memory) soon(room string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.waiting, room) && len(m.waiting) < maxWaiting { // otherwise its next task does it
		m.waiting = append(m.waiting, room)
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// next takes a room that waits.
func (m *Memory) next() (room string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) == 0 {
		return "", false
	}
	room, m.waiting = m.waiting[0], m.waiting[1:]
	return room, true
}

// Work builds indexes again after the record has changed, and fetches the vectors of what rooms learn, until ctx ends.
// What fails waits for the room's next task.
func (m *Memory) Work(ctx context.Context) {
	if m == nil {
		return
	}
	for {
		room, ok := m.next()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-m.wake:
			}
			continue
		}
		err := m.use(ctx, room, fillTime, func(context.Context, *memory.Index) error { return nil })
		m.warn(ctx, room, "cannot build the index of a room", err)
		if m.embedder == nil || err != nil {
			continue
		}
		more, err := m.embedTurn(ctx, room)
		m.warn(ctx, room, "cannot store the embeddings of a room", err)
		if more {
			m.soon(room)
		}
	}
}
