package recall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/agenttest"
	"matrix-tui/state/memory"
)

// embeddings is a model that counts.
type embeddings struct {
	script   agenttest.Embeddings
	texts    []string // that were kept, of all requests
	batches  []int    // their numbers
	asked    []string // that were searched for
	err      error
	hang     bool
	waits    time.Duration    // the longest time that a request may take, if it hangs
	sentRoom map[string]int64 // tokens
}

func (e *embeddings) fetch(ctx context.Context, query bool, texts []string) (vectors [][]float32, err error) {
	if query {
		e.asked = append(e.asked, texts...)
	} else {
		e.texts, e.batches = append(e.texts, texts...), append(e.batches, len(texts))
	}
	if e.hang {
		if until, bounded := ctx.Deadline(); bounded {
			e.waits = time.Until(until)
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for _, text := range texts {
		var values []float32
		for _, v := range e.script.Vector(text, memory.Dimensions) {
			values = append(values, float32(v))
		}
		vectors = append(vectors, values)
	}
	return vectors, e.err
}

func newEmbeddings(t *testing.T) (*Memory, *embeddings, *bytes.Buffer) {
	t.Helper()
	m := newMemory(t)
	e := &embeddings{script: agenttest.Embeddings{Same: []string{"automobile car vehicle", "colour red"}}, sentRoom: map[string]int64{}}
	m.Embeddings("scripted", e.fetch)
	m.Account(nil, func(room string, tokens int64) { e.sentRoom[room] += tokens })
	var log bytes.Buffer
	m.log = zerolog.New(&log)
	return m, e, &log
}

// embedNow does what waits.
func embedNow(t *testing.T, m *Memory) {
	t.Helper()
	for {
		room, ok := m.next()
		if !ok {
			return
		}
		done, err := m.embedder.turn(t.Context(), room)
		if err != nil {
			t.Fatal(err)
		}
		if !done {
			m.embedSoon(room)
		}
	}
}

func TestFindsParaphrases(t *testing.T) {
	m, e, _ := newEmbeddings(t)
	learn(t, m, task(1, 0, "my car is red", "Noted."), task(2, 0, "the bread is baked on mondays", "Noted."))
	const question = "which colour has the automobile?"
	if k := m.Find(t.Context(), "!r", "alice", "", question); strings.Contains(fmt.Sprint(k.Retrieved), "car is red") {
		t.Error("it is found before it is embedded")
	}
	embedNow(t, m)
	if k := m.Find(t.Context(), "!r", "alice", "", question); len(k.Retrieved) == 0 || !strings.Contains(k.Retrieved[0], "car is red") {
		t.Errorf("retrieved %q", k.Retrieved)
	}
	if answer, err := m.Command(t.Context(), "!r", "$x", "alice", "search "+question); err != nil || !strings.Contains(answer, "car is red") {
		t.Errorf("%q, %v", answer, err)
	}
	if hits, err := m.Search(t.Context(), "!r", memory.Query{Text: question, Max: 1}); err != nil || len(hits) != 1 || !strings.Contains(hits[0].Text, "car is red") {
		t.Errorf("the agent finds %+v, %v", hits, err)
	}
	tokens := int64(0)
	for _, text := range append(e.texts, e.asked...) {
		tokens += memory.Tokens(text)
	}
	if len(e.asked) != 4 || e.sentRoom["!r"] == 0 || e.sentRoom["!r"] != tokens {
		t.Errorf("%d questions; %d tokens are counted, want %d", len(e.asked), e.sentRoom["!r"], tokens)
	}
}

func TestEmbedsInBatchesAndOnce(t *testing.T) {
	m, e, _ := newEmbeddings(t)
	for i := range 30 {
		learn(t, m, task(i, 0, fmt.Sprintf("task number %d about topic%d", i, i), "Done."))
	}
	embedNow(t, m)
	for i, n := range e.batches {
		if n > batchSize || n < batchSize && i < len(e.batches)-1 {
			t.Errorf("batches %v", e.batches)
		}
	}
	if len(e.batches) < 2 || len(e.texts) < 60 {
		t.Errorf("%d texts in batches %v", len(e.texts), e.batches)
	}
	before := len(e.batches)
	learn(t, m, task(3, 0, "task number 3 about topic3", "Done."))
	embedNow(t, m)
	if len(e.batches) != before {
		t.Error("the same again is embedded again")
	}
}

func TestFailingEmbeddingsAreTurnedOff(t *testing.T) {
	m, e, log := newEmbeddings(t)
	e.err = errors.New("down")
	learn(t, m, task(1, 0, "my car is red", "Noted."))
	for range 10 {
		m.embedSoon("!r")
		embedNow(t, m)
		if k := m.Find(t.Context(), "!r", "alice", "", "what about my car?"); len(k.Retrieved) == 0 {
			t.Error("words do not find it")
		}
	}
	if len(e.batches) != breakAfter || len(e.asked) != breakAfter {
		t.Errorf("%d and %d requests, want %d each", len(e.batches), len(e.asked), breakAfter)
	}
	if n := strings.Count(log.String(), "\n"); n != 2 || strings.Contains(log.String(), "car") {
		t.Errorf("%d lines in the log, want one for entries and one for queries: %s", n, log)
	}
	if len(e.sentRoom) > 0 {
		t.Errorf("failures are counted: %v", e.sentRoom)
	}
}

// A request that the model has got uses tokens, also if its answer is cut, or if nobody waits for it.
func TestCutEmbeddingsAreCounted(t *testing.T) {
	m, e, _ := newEmbeddings(t)
	e.err = fmt.Errorf("fetch: %w", memory.ErrCut)
	m.Vector(t.Context(), askTime, "!r", "my car is red")
	want := memory.Tokens("my car is red")
	if e.sentRoom["!r"] != want {
		t.Errorf("%d tokens are counted, want %d", e.sentRoom["!r"], want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Vector(ctx, askTime, "!r", "my car is red")
	if e.sentRoom["!r"] != 2*want {
		t.Errorf("%d tokens are counted, want %d", e.sentRoom["!r"], 2*want)
	}
}

func TestSlowEmbeddingsDelayNothing(t *testing.T) {
	m, e, _ := newEmbeddings(t)
	learn(t, m, task(1, 0, "my car is red", "Noted."))
	e.hang = true
	if k := m.Find(t.Context(), "!r", "alice", "", "what about my car?"); len(k.Retrieved) == 0 {
		t.Error("words do not find it")
	}
	if e.waits <= 0 || e.waits > askTime {
		t.Errorf("it may wait for %v", e.waits)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); m.Work(ctx) }()
	cancel()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("Work does not end with its context")
	}
}

func TestLimitStopsEmbeddings(t *testing.T) {
	m, e, _ := newEmbeddings(t)
	m.Account(func(context.Context, string) error { return errors.New("spent") }, nil)
	learn(t, m, task(1, 0, "my car is red", "Noted."))
	embedNow(t, m)
	if k := m.Find(t.Context(), "!r", "alice", "", "what about my car?"); len(k.Retrieved) == 0 {
		t.Error("words do not find it")
	}
	if len(e.batches)+len(e.asked) > 0 {
		t.Error("requests were made beyond the limit")
	}
}

func TestWaitingRoomsAreBounded(t *testing.T) {
	m, _, _ := newEmbeddings(t)
	for i := range 3 * maxWaiting {
		m.embedSoon(fmt.Sprintf("!%d", i/2))
	}
	if n := len(m.waiting); n != maxWaiting {
		t.Errorf("%d rooms wait, want %d", n, maxWaiting)
	}
}

func TestWithoutEmbeddings(t *testing.T) {
	m := newMemory(t)
	m.Account(nil, nil)
	m.embedSoon("!r")
	if _, waits := m.next(); waits {
		t.Error("a room waits for nothing")
	}
	if v := m.Vector(t.Context(), askTime, "!r", "x"); v.Values != nil {
		t.Error("there is a vector")
	}
	(*Memory)(nil).Account(nil, nil)
	(*Memory)(nil).Work(t.Context())
}
