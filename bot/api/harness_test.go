package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"matrix-tui/bot"
	"matrix-tui/state/execution"
)

const (
	testToken = "T0ken-of-the-test"
	testRoom  = "!den:example.org"
)

var testClock = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// shelf keeps executions, in the states that the bot's have.
type shelf struct {
	mu       sync.Mutex
	list     []*execution.Execution
	byKey    map[string]*execution.Execution
	starting bool
	ill      error // returned as its health
	broken   error // returned by every call
	hold     chan struct{}
	held     chan struct{}
}

func (s *shelf) Health(context.Context) bot.Health {
	if s.starting {
		return bot.Health{}
	}
	return bot.Health{Synced: testClock, Err: s.ill}
}

func (s *shelf) Collectors() []prometheus.Collector {
	return []prometheus.Collector{prometheus.NewGauge(prometheus.GaugeOpts{Name: "matrix_tui_test", Help: "Of the test."})}
}

func (s *shelf) Execute(ctx context.Context, sub bot.Submission) (json.RawMessage, error) {
	if s.hold != nil {
		close(s.held)
		select {
		case <-s.hold:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait: %w", ctx.Err())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.broken != nil:
		return nil, s.broken
	case sub.Room != testRoom:
		return nil, fmt.Errorf("execute in %s: %w", sub.Room, bot.ErrNoRoom)
	case sub.Key != "" && s.byKey[sub.Key] != nil:
		return json.Marshal(s.byKey[sub.Key])
	case sub.Transcript == "panic":
		panic("secret text of " + sub.Transcript)
	}
	e, err := execution.New(execution.Spec{ID: fmt.Sprintf("id-%d", len(s.list)), Room: sub.Room, Transcript: []string{sub.Transcript}, Commands: sub.Commands}, testClock)
	if err != nil {
		return nil, fmt.Errorf("execute: %w", err)
	}
	s.list = append(s.list, e)
	if s.byKey == nil {
		s.byKey = map[string]*execution.Execution{}
	}
	s.byKey[sub.Key] = e
	return json.Marshal(e)
}

func (s *shelf) find(id string) *execution.Execution {
	for _, e := range s.list {
		if e.ID == id {
			return e
		}
	}
	return nil
}

func (s *shelf) Execution(_ context.Context, id string) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.find(id); e != nil {
		return json.Marshal(e)
	}
	return nil, bot.ErrNoExecution
}

func (s *shelf) Resume(_ context.Context, id string, reply bot.Reply) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(id)
	if e == nil {
		return nil, fmt.Errorf("resume %s: %w", id, bot.ErrNoExecution)
	}
	if err := e.Resume(execution.Answer{Answer: reply.Answer, Key: reply.Key}, testClock); err != nil {
		return nil, fmt.Errorf("resume %s: %w", id, err)
	}
	return json.Marshal(e)
}

// waiting adds an execution that is waiting for an answer, and one that has ended.
func (s *shelf) waiting(t *testing.T, id string) *execution.Execution {
	t.Helper()
	e, err := execution.New(execution.Spec{ID: id, Room: testRoom, Transcript: []string{"deploy <it> & tell"}}, testClock)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{e.Start(testClock), e.Ask("Which one?", "deploying", testClock.Add(time.Hour), testClock)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.list = append(s.list, e)
	return e
}

// served runs the API on its own port until the test ends.
func served(t *testing.T, s *shelf, token string) (base string, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	base, _ = serving(t, New(s, token, zerolog.New(zerolog.SyncWriter(log))), zerolog.Nop())
	return base, log
}

func serving(t *testing.T, h http.Handler, log zerolog.Logger) (base string, stop func() error) {
	t.Helper()
	ln, err := Listen(t.Context(), "API_LISTEN", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, ln, h, "listening", log) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return "http://" + ln.Addr().String(), stop
}

// reply is a response as received.
type reply struct {
	code int
	head http.Header
	body string
}

// ask sends one request; header is "Name: value" lines.
func ask(t *testing.T, method, url, body string, header ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body == "" {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Add(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(got)}
}

const (
	bearer = "Authorization: Bearer " + testToken
	isjson = "Content-Type: application/json"
)

func said(text string) string {
	body, _ := json.Marshal(map[string]string{"error": text})
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(body)) + "\n"
}
