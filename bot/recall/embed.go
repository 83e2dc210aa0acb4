package recall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
)

const (
	askTime   = 500 * time.Millisecond // how long a room waits for the vector of its query
	batchTime = 30 * time.Second       // of a request for the vectors of new entries
	batchSize = 32                     // texts of a request
	maxAsked  = 4 << 10                // bytes of a query
)

// Embedder returns the vectors of texts, each of memory.Dimensions. Query says whether the text is searched for or
// kept. Its errors contain no text. A memory.ErrCut uses as many tokens as an answer does.
type Embedder func(ctx context.Context, query bool, texts []string) ([][]float32, error)

// embedder fetches the vectors of what rooms know, and of what they search for.
type embedder struct {
	*indexes
	model string
	ask   Embedder
	// Fetching for searches has its own breaker: it has to be fast.
	asks, batches breaker

	allowed func(ctx context.Context, room string) error
	spend   func(room string, tokens int64)
}

// Embeddings makes searches use the vectors of a model. Call it before anything else. [Memory.Work] fetches those of
// what rooms know.
func (m *indexes) Embeddings(model string, fetch Embedder) {
	m.embedder = &embedder{indexes: m, model: model, ask: fetch}
}

// Account sets who is asked before each request for embeddings whether the room may make it, and who is told how many
// tokens it has used. Call it before [Memory.Work].
func (m *Memory) Account(allowed func(ctx context.Context, room string) error, spend func(room string, tokens int64)) {
	if m != nil && m.embedder != nil {
		m.embedder.allowed, m.embedder.spend = allowed, spend
	}
}

// Vector returns the vector of what a room searches for, an empty one if the model does not answer in time.
func (m *indexes) Vector(ctx context.Context, wait time.Duration, room, text string) memory.Vector {
	e := m.embedder
	if e == nil {
		return memory.Vector{}
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	text = clean.Clip(m.filter.Clean(clean.Clip(text, 4*maxAsked)), maxAsked)
	vectors, err := e.fetch(ctx, &e.asks, room, true, text)
	if err != nil {
		return memory.Vector{}
	}
	return memory.Vector{Model: e.model, Values: vectors[0]}
}

// errNotNow means that a request must not be made, or that nobody waits for it any more.
var errNotNow = errors.New("no request now")

// fetch makes one request. That texts which are kept are refused says nothing about the API: see each.
func (e *embedder) fetch(ctx context.Context, b *breaker, room string, query bool,
	texts ...string) ([][]float32, error) {
	if !b.on(time.Now()) || e.allowed != nil && e.allowed(ctx, room) != nil {
		return nil, errNotNow
	}
	vectors, err := e.ask(ctx, query, texts)
	if e.spend != nil && (err == nil || errors.Is(err, memory.ErrCut)) {
		tokens := int64(0)
		for _, text := range texts {
			tokens += memory.Tokens(text)
		}
		e.spend(room, tokens)
	}
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("there are %d embeddings of %d texts", len(vectors), len(texts))
	}
	if errors.Is(ctx.Err(), context.Canceled) { // the bot stops, or the task
		return nil, errNotNow
	}
	if query || !errors.Is(err, memory.ErrRefused) {
		e.count(b, query, err)
	}
	if err != nil {
		return nil, err
	}
	return vectors, nil
}

// count records the result of a request.
func (e *embedder) count(b *breaker, query bool, err error) {
	if off := b.done(time.Now(), err); off > 0 {
		e.log.Warn().Err(err).Str("off", off.String()).Bool("query", query).
			Msg("embeddings fail: memory is searched by words alone")
	}
}

// turn makes one request for the vectors of a room, or one for each text if that is refused. No index is open during
// it. Done says whether there is nothing left to do, for now.
func (e *embedder) turn(ctx context.Context, room string) (done bool, err error) {
	if !e.batches.on(time.Now()) {
		return true, nil
	}
	var of []memory.Unembedded
	err = e.use(ctx, room, writeTime, func(ctx context.Context, x *memory.Index) (err error) {
		of, err = x.Unembedded(ctx, e.model, batchSize)
		return err
	})
	if err != nil || len(of) == 0 {
		return true, err
	}
	texts := make([]string, len(of))
	for i, one := range of {
		texts[i] = one.Text
	}
	vectors, err := e.kept(ctx, room, texts...)
	if errors.Is(err, memory.ErrRefused) {
		return e.each(ctx, room, of)
	}
	if err != nil {
		return true, nil
	}
	return false, e.use(ctx, room, writeTime, func(ctx context.Context, x *memory.Index) error {
		return x.Embed(ctx, e.model, of, vectors)
	})
}

// harmless is a text that an API refuses only if it refuses every request, for example because of the key.
const harmless = "hello"

// kept makes a request for the vectors of texts that are kept.
func (e *embedder) kept(ctx context.Context, room string, texts ...string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	return e.fetch(ctx, &e.batches, room, false, texts...)
}

// each makes a request for each text of a batch that was refused. A text that is refused alone gets no vector: it
// would keep all others from getting theirs. But first it makes sure that the API does not refuse everything. Done says
// whether there is nothing left to do, for now.
func (e *embedder) each(ctx context.Context, room string, of []memory.Unembedded) (done bool, err error) {
	if _, err := e.kept(ctx, room, harmless); err != nil {
		if errors.Is(err, memory.ErrRefused) {
			e.count(&e.batches, false, err)
		}
		return true, nil
	}
	var refused, taken []memory.Unembedded
	var vectors [][]float32
	for _, one := range of {
		vector, err := e.kept(ctx, room, one.Text)
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
		e.log.Warn().Str("room", room).Int("texts", len(refused)).
			Msg("the model refuses to embed texts of a room: they are found by words alone")
	}
	return done, e.use(ctx, room, writeTime, func(ctx context.Context, x *memory.Index) error {
		return errors.Join(x.Embed(ctx, e.model, taken, vectors), x.Refuse(ctx, e.model, refused))
	})
}
