package recall

import (
	"context"

	"matrix-tui/state/memory"
)

// expected is the vector of a search to come.
type expected struct {
	text   string
	done   chan struct{}
	vector memory.Vector
}

// Expect says that a room will search for a text soon. It returns what fetches the vector meanwhile, so that the search
// need not wait for it; nil if there is nothing to fetch.
func (m *Memory) Expect(room, text string) (fetch func(ctx context.Context)) {
	if !m.knows(room) || m.embedder == nil {
		return nil
	}
	e, one := m.embedder, &expected{text: text, done: make(chan struct{})}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expected[room] = one
	return func(ctx context.Context) {
		defer close(one.done)
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		one.vector = m.ask(ctx, room, text)
	}
}

// take returns what is expected in a room, if it is this text.
func (e *embedder) take(room, text string) *expected {
	e.mu.Lock()
	defer e.mu.Unlock()
	one := e.expected[room]
	delete(e.expected, room)
	if one == nil || one.text != text {
		return nil
	}
	return one
}
