package person

import (
	"context"
	"fmt"
	"testing"
	"time"
)

func TestTimelineKeepsTheNewest(t *testing.T) {
	tl := &timeline{known: map[string]bool{}}
	for i := range keep + 100 {
		tl.add(Msg{Event: fmt.Sprint("$", i)})
	}
	if len(tl.msgs) != keep || len(tl.known) != keep {
		t.Fatalf("holds %d messages and %d IDs, want %d", len(tl.msgs), len(tl.known), keep)
	}
	if first := tl.msgs[0].Event; first != "$100" {
		t.Errorf("the oldest is %s, want $100", first)
	}
}

func TestTimelineTakesAnEventOnce(t *testing.T) {
	tl := &timeline{known: map[string]bool{}}
	tl.add(Msg{Event: "$1"}, Msg{Event: "$2"}, Msg{Event: "$1"}, Msg{})
	if len(tl.msgs) != 2 {
		t.Errorf("holds %d messages, want 2", len(tl.msgs))
	}
}

// someone is a person who has seen nothing yet and does not sync.
func someone() *Person {
	return &Person{changed: make(chan struct{}), rooms: map[string]*timeline{}, invites: map[string]string{}}
}

func (p *Person) see(room string, msgs ...Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.room(room).add(msgs...)
	p.tell()
}

func TestWaitSeesThePastAndTheFuture(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	p := someone()
	p.see("!den", Msg{Event: "$1", Body: "past"})
	if m, err := p.Wait(ctx, "!den", func(m Msg) bool { return m.Body == "past" }); err != nil || m.Event != "$1" {
		t.Errorf("past: %v, %v", m, err)
	}
	found := make(chan Msg)
	go func() {
		m, _ := p.Wait(ctx, "!den", func(m Msg) bool { return m.Body == "future" })
		found <- m
	}()
	p.see("!attic", Msg{Event: "$2", Body: "future"})
	p.see("!den", Msg{Event: "$3", Body: "another"})
	p.see("!den", Msg{Event: "$4", Body: "future"})
	if m := <-found; m.Event != "$4" {
		t.Errorf("future: %v", m)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := someone().Wait(ctx, "!den", func(Msg) bool { return true }); err == nil {
		t.Errorf("found %v in an empty room", m)
	}
}

func TestPlain(t *testing.T) {
	in := `{"b": 9007199254740993, "a": "\ud83d\udd12 \u003c\u0026"}`
	if got := string(Plain([]byte(in))); got != `{"a":"🔒 <&","b":9007199254740993}` {
		t.Error(got)
	}
}
