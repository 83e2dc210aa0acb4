package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot"
	"matrix-tui/state"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
)

const hostile = `<script>window.ran=true</script>"><img src=x onerror=window.ran=true>`

// house is a bot with one room and one task. alice owns it and may see them; mallory has a session, too, but may see nothing.
type house struct {
	mu       sync.Mutex
	starting bool
	admitted map[string]string // codes, to the users who have sent them
	sessions map[string]string
	task     execution.Execution
	progress string
	result   string
	sending  bool
	rooms    []bot.RoomLine // instead of two
	shown    *bot.TaskView  // the task, instead of the one above
	answered []string
	stopped  int
	files    map[string]string // of the room's workspace
	breaks   error             // of each download
	program  string            // where the program listens that runs in the container
}

func (h *house) Code(_ context.Context, browser string) (string, error) {
	if h.starting {
		return "", sentence.New(errors.New("starting"), "The bot is starting.")
	}
	return "C" + browser[:7], nil
}

func (h *house) Enter(_ context.Context, browser, number string) (string, time.Time, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	code := "C" + browser[:7]
	user := h.admitted[code]
	if user == "" || number != "123456" {
		return "", time.Time{}, bot.ErrNoVisitor
	}
	delete(h.admitted, code)
	h.sessions["s-"+user+code] = user
	return "s-" + user + code, time.Now().Add(time.Hour), nil
}

func (h *house) Leave(_ context.Context, session string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, session)
	return nil
}

func (h *house) Visitor(_ context.Context, session string) (state.Visitor, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if user := h.sessions[session]; user != "" {
		return state.Visitor{User: user}, nil
	}
	return state.Visitor{}, bot.ErrNoVisitor
}

func (h *house) Rooms(_ context.Context, v state.Visitor) (rooms []bot.RoomLine, err error) {
	if h.rooms != nil {
		return h.rooms, nil
	}
	if v.User == "@alice:h" {
		rooms = []bot.RoomLine{{ID: "!den:h", Name: "Den " + hostile, Running: true, Waiting: 1}, {ID: "!b:h", Name: "Barn"}}
	}
	return rooms, nil
}

func (h *house) Room(_ context.Context, v state.Visitor, room string) (bot.RoomView, error) {
	if v.User != "@alice:h" || room != "!den:h" {
		return bot.RoomView{}, bot.ErrNoRoom
	}
	return bot.RoomView{ID: room, Name: "Den " + hostile, Container: "sandbox-den", Running: "step " + hostile,
		Open: []bot.TaskLine{{Execution: &h.task}}, Schedule: hostile, Usage: "Today: 5 tokens.",
		Model: "The model is `flash`.", Uses: "3 MB of disk", UsesAt: time.Now(), Agent: "0.99" + hostile,
		Days: []bot.Day{{Date: time.Now(), Tokens: 5}, {Date: time.Now()}, {Date: time.Now(), Tokens: 9000}}}, nil
}

func (h *house) Task(_ context.Context, v state.Visitor, id string) (bot.TaskView, error) {
	if h.shown != nil {
		return *h.shown, nil
	}
	if v.User != "@alice:h" || id != "one" {
		return bot.TaskView{}, bot.ErrNoExecution
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.task
	view := bot.TaskView{Execution: &e, RoomName: "Den", By: "alice", Progress: h.progress, Result: h.result,
		Number: e.QuestionNumber(), Until: "15:00 UTC", Used: "2 steps · 4 s · 17,772 tokens", Sending: h.sending,
		Came: []bot.TaskFile{{Name: "plan " + hostile, Size: 2048}, {Name: "b.txt", Missing: "It is too large."}}}
	if e.State == execution.Done {
		view.Sent = []bot.TaskFile{{Name: "barn " + hostile, Size: 3 << 20}}
	}
	if view.Number > 0 {
		view.Around = "I found two paints."
		view.Options = []bot.Option{{Name: hostile, Answer: hostile}}
	}
	return view, nil
}

func (h *house) Memory(_ context.Context, v state.Visitor, room, about string) (string, error) {
	if v.User != "@alice:h" || room != "!den:h" {
		return "", bot.ErrNoRoom
	}
	return "- `f1` found " + about + hostile, nil
}

func (h *house) Remember(ctx context.Context, v state.Visitor, room, text string) (string, error) {
	_, err := h.Memory(ctx, v, room, "")
	return "I will remember " + text, err
}

func (h *house) Forget(ctx context.Context, v state.Visitor, room, text string) (string, error) {
	_, err := h.Memory(ctx, v, room, "")
	return "I have forgotten " + text, err
}

func (h *house) Answer(_ context.Context, v state.Visitor, id string, number int, answer string) (string, error) {
	if v.User != "@alice:h" || id != "one" {
		return "", bot.ErrNoExecution
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.answered) > 0 {
		return "That question was already answered by bob: the first answer stands.", nil
	}
	h.answered = append(h.answered, answer)
	return "", nil
}

func (h *house) Stop(context.Context, state.Visitor, string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped++
	return "", nil
}

func (h *house) Owns(_ context.Context, v state.Visitor) (bool, error) {
	return v.User == "@alice:h", nil
}

func (h *house) Host(_ context.Context, v state.Visitor) (bot.HostView, error) {
	if v.User != "@alice:h" {
		return bot.HostView{}, bot.ErrNoRoom
	}
	return bot.HostView{Version: "v1.2.0", Begun: time.Now().Add(-3 * time.Hour), Standing: "The host has 1 GB of memory available.",
		Alerts: []string{"⚠️ Running short: `/x` " + hostile}, Checks: []bot.Check{{Word: "ok", Text: "podman 5.4.2 " + hostile},
			{Word: "FAIL", Text: "image x is missing: run ./deploy/image/build"}, {Word: "skip", Text: strings.Repeat("/long", 60)}}}, nil
}

// browser is one person's.
type browser struct {
	*testing.T
	base string
	http *http.Client
}

func newHouse(t *testing.T) (*house, func() *browser) {
	h := &house{admitted: map[string]string{}, sessions: map[string]string{},
		task: execution.Execution{ID: "one", Room: "!den:h", State: execution.WaitingForInput, Transcript: []string{hostile},
			CurrentQuestion: "Which? " + hostile, CreatedAt: time.Now()}}
	server := httptest.NewUnstartedServer(nil)
	address := server.Listener.Addr().String()
	server.Config.Handler = New(t.Context(), h, h, Address{&url.URL{Scheme: "http", Host: address}, "localhost"}, zerolog.Nop())
	server.Start()
	t.Cleanup(server.Close)
	return h, func() *browser {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		all := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}}
		t.Cleanup(all.CloseIdleConnections)
		return &browser{t, server.URL, &http.Client{Jar: jar, Transport: all}}
	}
}

var codeShown = regexp.MustCompile(`!page (\w+)<`)

// code returns the code that the browser shows.
func (b *browser) code(path string) string {
	b.Helper()
	_, body := b.get(path)
	found := codeShown.FindStringSubmatch(body)
	if found == nil {
		b.Fatalf("no code in %s", body)
	}
	return found[1]
}

// signIn signs a user in.
func (b *browser) signIn(h *house, user string) {
	b.Helper()
	code := b.code("/signin")
	h.mu.Lock()
	h.admitted[code] = user
	h.mu.Unlock()
	b.wants(200, user)(b.post("/signin", "number", " 123456 "))
}

// get and post return the status and the body.
func (b *browser) get(path string) (int, string) { return b.do("GET", path, nil) }

func (b *browser) post(path string, fields ...string) (int, string) {
	form := url.Values{}
	for pair := range slices.Chunk(fields, 2) {
		form.Set(pair[0], pair[1])
	}
	return b.do("POST", path, form)
}

func (b *browser) do(method, path string, form url.Values, headers ...string) (int, string) {
	b.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(b.Context(), method, b.base+path, body)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	resp, data := b.read(b.http.Do(r))
	for _, header := range []string{"Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy"} {
		if resp.Header.Get(header) == "" {
			b.Errorf("%s %s: no header %s", method, path, header)
		}
	}
	if strings.Contains(data, "<script>") || strings.Contains(data, "<img") {
		b.Errorf("%s %s has what somebody wrote as HTML: %s", method, path, data)
	}
	return resp.StatusCode, data
}

// read returns a response and all of its body.
func (b *browser) read(resp *http.Response, err error) (*http.Response, string) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	return resp, string(data)
}

func (b *browser) url() *url.URL {
	u, err := url.Parse(b.base)
	if err != nil {
		b.Fatal(err)
	}
	return u
}

func (b *browser) wants(status int, want string) func(int, string) {
	return func(got int, body string) {
		b.Helper()
		if got != status || !strings.Contains(body, want) {
			b.Errorf("got %d, want %d with %q: %s", got, status, want, body)
		}
	}
}
