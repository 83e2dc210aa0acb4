package recall

import (
	"context"
	"slices"
	"time"

	"matrix-tui/state/memory"
)

// embedSoon makes Work fetch the vectors of a room, if there are any. It never waits.
func (m *indexes) embedSoon(room string) {
	if m.embedder != nil {
		m.soon(room)
	}
}

// soon makes Work look at a room. It never waits.
func (m *indexes) soon(room string) {
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
func (m *indexes) next() (room string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) == 0 {
		return "", false
	}
	room, m.waiting = m.waiting[0], m.waiting[1:]
	return room, true
}

// lookAgain is how often Work tries again what has failed.
const lookAgain = 10 * time.Minute

// Work makes indexes follow the record after it has changed, also before a restart, and fetches the vectors of what
// rooms learn, until ctx ends.
func (m *Memory) Work(ctx context.Context) {
	if m == nil {
		return
	}
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for look := true; ; {
		if look {
			doubted, err := memory.Doubted(ctx, m.dir)
			m.warn(ctx, "", "cannot look for indexes to build", err)
			for _, room := range doubted {
				m.soon(room)
			}
		}
		for room, ok := m.next(); ok && ctx.Err() == nil; room, ok = m.next() {
			m.warn(ctx, room, "cannot build the index of a room", follow(ctx, m.indexes, room))
		}
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
			look = false
		case <-again.C:
			look = true
		}
	}
}

// follow makes the index of a room follow the record, and fetches some of its vectors.
func follow(ctx context.Context, m *indexes, room string) error {
	err := m.use(ctx, room, fillTime, func(context.Context, *memory.Index) error { return nil })
	if m.embedder == nil || err != nil {
		return err
	}
	done, err := m.embedder.turn(ctx, room)
	m.warn(ctx, room, "cannot store the embeddings of a room", err)
	if !done && err == nil { // after the other rooms
		m.soon(room)
	}
	return nil
}
