package tools

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"matrix-tui/bot/recall"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state"
)

const den, shed = "!den:example.org", "!shed:example.org"

// rooms is a gateway that serves the tools, with a memory.
type rooms struct {
	dir    string // of the state
	memory *recall.Memory
	door   *gateway.Gateway
	dirs   map[string]string
}

// open opens the rooms den and shed, each with a run.
func open(t testing.TB) *rooms {
	t.Helper()
	dir := t.TempDir()
	journal, store, err := state.Open(t.Context(), dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = store.Close(), journal.Close() })
	r := &rooms{dir: dir, memory: recall.New(dir, store, journal, zerolog.Nop(), "the-bots-own-key"), dirs: map[string]string{}}
	r.door = gateway.New(gateway.Config{Dir: t.TempDir(), Log: zerolog.Nop()})
	r.door.Mount("/memory", Handler(r.memory, zerolog.Nop()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := r.door.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	for _, room := range []string{den, shed} {
		r.door.Begin(room, "run")
		if r.dirs[room], err = r.door.Open(room); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// client returns an HTTP client on a room's socket.
func (r *rooms) client(room string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(r.dirs[room], "sock"))
	}, DisableKeepAlives: true}}
}

// connect returns a session of an MCP client on a room's socket.
func (r *rooms) connect(t testing.TB, room string) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://gateway/memory", HTTPClient: r.client(room), DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// send sends one HTTP request to a room's socket, from a client of a version of MCP, "" if it does not say.
func (r *rooms) send(t testing.TB, room, method, body, version string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://gateway/memory", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if version != "" {
		req.Header.Set("Mcp-Protocol-Version", version)
	}
	resp, err := r.client(room).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// call calls a tool, and returns what the agent reads and whether it is an error.
func call(t testing.TB, session *mcp.ClientSession, tool string, args any) (text string, failed bool) {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	for _, c := range res.Content {
		text += c.(*mcp.TextContent).Text
	}
	return text, res.IsError
}

type m = map[string]any

// learn stores a task of Alice's.
func (r *rooms) learn(t testing.TB, room string, n int, said, result string, answers ...recall.Answer) {
	t.Helper()
	began := time.Date(2026, 3, 1, 12, n, 0, 0, time.UTC)
	event := fmt.Sprint("$", n)
	err := r.memory.Learn(t.Context(), recall.Task{Room: room, ID: fmt.Sprint("x", n), Event: event, By: "alice", Session: "s", Began: began, Ended: began.Add(time.Second),
		Said: []recall.Said{{Event: event, By: "alice", Text: said}}, Answers: answers, Success: true, Result: result})
	if err != nil {
		t.Fatal(err)
	}
}
