package recall

import (
	"context"
	"errors"

	"matrix-tui/state/memory"
)

// harmless is a text that an API refuses only if it refuses every request, for example because of the key.
const harmless = "hello"

// fetchKept makes a request for the vectors of texts that are kept.
func (m *Memory) fetchKept(ctx context.Context, room string, texts ...string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	return m.fetch(ctx, &m.embedder.batches, room, false, texts...)
}

// embedEach makes a request for each text of a batch that was refused. A text that is refused alone gets no vector: it
// would keep all others from getting theirs. But first it makes sure that the API does not refuse everything. Done says
// whether there is nothing left to do, for now.
func (m *Memory) embedEach(ctx context.Context, room string, of []memory.Unembedded) (done bool, err error) {
	e := m.embedder
	if _, err := m.fetchKept(ctx, room, harmless); err != nil {
		if errors.Is(err, memory.ErrRefused) {
			m.count(&e.batches, false, err)
		}
		return true, nil
	}
	var refused, taken []memory.Unembedded
	var vectors [][]float32
	for _, one := range of {
		vector, err := m.fetchKept(ctx, room, one.Text)
		if errors.Is(err, memory.ErrRefused) {
			refused = append(refused, one)
			continue
		}
		if err != nil { // what is left is for the next time
			done = true
			break
		}
		taken, vectors = append(taken, one), append(vectors, vector...)
	}
	if len(refused) > 0 {
		m.log.Warn().Str("room", room).Int("texts", len(refused)).
			Msg("the model refuses to embed texts of a room: they are found by words alone")
	}
	return done, m.use(ctx, room, writeTime, func(ctx context.Context, x *memory.Index) error {
		return errors.Join(x.Embed(ctx, e.model, taken, vectors), x.Refuse(ctx, e.model, refused))
	})
}
