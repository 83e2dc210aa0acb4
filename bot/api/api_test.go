package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"matrix-tui/agent"
	"matrix-tui/bot"
)

const (
	testToken = "T0ken-of-the-test"
	testRoom  = "!den:example.org"
)

var testClock = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// shelf keeps executions, with the states that they have in the bot.
type shelf struct {
	mu       sync.Mutex
	list     []*agent.Execution
	byKey    map[string]*agent.Execution
	starting bool
	ill      error // of its health
	broken   error // what every call says
	hold     chan struct{}
	held     chan struct{}
}

func (s *shelf) service() service {
	return service{
		execute: s.execute, execution: s.execution, resume: s.resume,
		health: func(context.Context) bot.Health {
			if s.starting {
				return bot.Health{}
			}
			return bot.Health{Synced: testClock, Err: s.ill}
		},
		collectors: []prometheus.Collector{prometheus.NewGauge(prometheus.GaugeOpts{Name: "matrix_tui_test", Help: "Of the test."})},
	}
}

func (s *shelf) execute(ctx context.Context, sub bot.Submission) (json.RawMessage, error) {
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
	e, err := agent.NewExecution(agent.Begin{ID: fmt.Sprintf("id-%d", len(s.list)), Room: sub.Room, Transcript: []string{sub.Transcript}, Commands: sub.Commands}, testClock)
	if err != nil {
		return nil, fmt.Errorf("execute: %w", err)
	}
	s.list = append(s.list, e)
	if s.byKey == nil {
		s.byKey = map[string]*agent.Execution{}
	}
	s.byKey[sub.Key] = e
	return json.Marshal(e)
}

func (s *shelf) find(id string) *agent.Execution {
	for _, e := range s.list {
		if e.ID == id {
			return e
		}
	}
	return nil
}

func (s *shelf) execution(id string) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.find(id); e != nil {
		return json.Marshal(e)
	}
	return nil, bot.ErrNoExecution
}

func (s *shelf) resume(_ context.Context, id, answer string) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(id)
	if e == nil {
		return nil, fmt.Errorf("resume %s: %w", id, bot.ErrNoExecution)
	}
	if err := e.Resume(agent.Answer{Answer: answer}, testClock); err != nil {
		return nil, fmt.Errorf("resume %s: %w", id, err)
	}
	return json.Marshal(e)
}

// waiting adds an execution that asks, and one that is over.
func (s *shelf) waiting(t *testing.T, id string) *agent.Execution {
	t.Helper()
	e, err := agent.NewExecution(agent.Begin{ID: id, Room: testRoom, Transcript: []string{"deploy <it> & tell"}}, testClock)
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

// served runs the interface on a port of its own until the test ends.
func served(t *testing.T, s *shelf, token string) (base string, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	base, _ = serving(t, newHandler(s.service(), token, zerolog.New(zerolog.SyncWriter(log))), zerolog.Nop())
	return base, log
}

func serving(t *testing.T, h http.Handler, log zerolog.Logger) (base string, stop func() error) {
	t.Helper()
	ln, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, ln, h, log) }()
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

// reply is an answer as it came.
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

// TestExecution is the seed's path: started, asked, answered, and answered
// again.
func TestExecution(t *testing.T) {
	s := &shelf{}
	base, log := served(t, s, testToken)
	got := ask(t, "POST", base+"/execute", `{"room":"`+testRoom+`","transcript":"make it","commands":["write a.py","test it"]}`, bearer, isjson)
	if diff := cmp.Diff(reply{202, nil, `{"session_id":"id-0","state":"pending"}` + "\n"}, reply{got.code, nil, got.body}, cmp.AllowUnexported(reply{})); diff != "" {
		t.Errorf("execute (-want +got):\n%s", diff)
	}
	if where := got.head.Get("Location"); where != "/context/id-0" {
		t.Errorf("Location is %q", where)
	}
	if got := ask(t, "POST", base+"/resume/id-0", `{"answer":"x"}`, bearer, isjson); got.code != 409 || got.body != said("Session is pending, not waiting for input") {
		t.Errorf("resume of a pending one: %d %s", got.code, got.body)
	}
	e := s.waiting(t, "asks")
	stored, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t, "GET", base+"/context/asks", "", bearer); got.code != 200 || got.body != string(stored)+"\n" {
		t.Errorf("context: %d %s", got.code, got.body)
	}
	if got := ask(t, "POST", base+"/resume/asks", `{"answer":"the second"}`, bearer, isjson); got.code != 200 || got.body != `{"session_id":"asks","state":"resuming"}`+"\n" {
		t.Errorf("resume: %d %s", got.code, got.body)
	}
	if diff := cmp.Diff([]agent.Answer{{Question: "Which one?", Answer: "the second"}}, e.Answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if got := ask(t, "POST", base+"/resume/asks", `{"answer":"the third"}`, bearer, isjson); got.code != 409 || got.body != said("Session is running, not waiting for input") {
		t.Errorf("second answer: %d %s", got.code, got.body)
	}
	if err := e.Complete("done", nil, testClock); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, "POST", base+"/resume/asks", `{"answer":"late"}`, bearer, isjson); got.code != 409 || got.body != said("Session is completed, not waiting for input") {
		t.Errorf("late answer: %d %s", got.code, got.body)
	}
	for _, secret := range []string{testToken, "make it", "the second", "a.py"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log:\n%s", secret, log)
		}
	}
}

func TestAuth(t *testing.T) {
	for _, tt := range []struct {
		name, token string
		header      []string
		path        string
		code        int
	}{
		{"right", testToken, []string{bearer}, "/context/x", 404},
		{"another case of the scheme", testToken, []string{"Authorization: bearer " + testToken}, "/context/x", 404},
		{"more spaces", testToken, []string{"Authorization: Bearer   " + testToken}, "/context/x", 404},
		{"none", testToken, nil, "/context/x", 401},
		{"wrong", testToken, []string{"Authorization: Bearer other"}, "/context/x", 401},
		{"beginning", testToken, []string{"Authorization: Bearer " + testToken[:5]}, "/context/x", 401},
		{"longer", testToken, []string{bearer + "x"}, "/context/x", 401},
		{"another case", testToken, []string{"Authorization: Bearer " + strings.ToUpper(testToken)}, "/context/x", 401},
		{"basic", testToken, []string{"Authorization: Basic " + testToken}, "/context/x", 401},
		{"without scheme", testToken, []string{"Authorization: " + testToken}, "/context/x", 401},
		{"empty", testToken, []string{"Authorization: Bearer"}, "/context/x", 401},
		{"twice", testToken, []string{bearer, bearer}, "/context/x", 401},
		{"unknown path without", testToken, nil, "/secret", 401},
		{"metrics without", testToken, nil, "/metrics", 401},
		{"metrics", testToken, []string{bearer}, "/metrics", 200},
		{"health without", testToken, nil, "/healthz", 200},
		{"no token set, none sent", "", nil, "/context/x", 401},
		{"no token set, empty sent", "", []string{"Authorization: Bearer"}, "/context/x", 401},
		{"no token set, empty sent after a space", "", []string{"Authorization: Bearer "}, "/context/x", 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, _ := served(t, &shelf{}, tt.token)
			got := ask(t, "GET", base+tt.path, "", tt.header...)
			if got.code != tt.code {
				t.Errorf("code %d, want %d: %s", got.code, tt.code, got.body)
			}
			if challenge := got.head.Get("WWW-Authenticate"); (challenge != "") != (tt.code == 401) {
				t.Errorf("WWW-Authenticate is %q", challenge)
			}
			if tt.code == 401 && got.body != said("This needs the header Authorization: Bearer TOKEN, with the bot's API_TOKEN") {
				t.Errorf("body %s", got.body)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	ok := `{"room":"` + testRoom + `","transcript":"x"}`
	long := strings.Repeat("x", maxBody)
	const plain = "The body is to be JSON: send the header Content-Type: application/json"
	for _, tt := range []struct {
		name, method, path, body string
		header                   []string // of isjson in its place
		code                     int
		want                     string
	}{
		{"no path", "GET", "/", "", nil, 404, "There is no such path"},
		{"below a path", "POST", "/execute/x", ok, nil, 404, "There is no such path"},
		{"no id", "GET", "/context/", "", nil, 404, "There is no such path"},
		{"two ids", "GET", "/context/a/b", "", nil, 404, "There is no such path"},
		{"hidden slash", "GET", "/context/a%2fb", "", nil, 404, "There is no such path"},
		{"dots", "GET", "/context/../metrics", "", nil, 404, "There is no such path"},
		{"long id", "GET", "/context/" + long[:maxID+1], "", nil, 404, "There is no such path"},
		{"longest id", "GET", "/context/" + long[:maxID], "", nil, 404, "Session not found"},
		{"no session", "GET", "/context/nobody", "", nil, 404, "Session not found"},
		{"no session to answer", "POST", "/resume/nobody", `{"answer":"x"}`, nil, 404, "Session not found"},
		{"no room", "POST", "/execute", `{"room":"!other:x","transcript":"x"}`, nil, 404, "Room not found: the bot is in no room of this ID"},

		{"execute read", "GET", "/execute", "", nil, 405, "This path takes POST"},
		{"execute put", "PUT", "/execute", ok, nil, 405, "This path takes POST"},
		{"context written", "POST", "/context/x", ok, nil, 405, "This path takes GET, HEAD"},
		{"context deleted", "DELETE", "/context/x", "", nil, 405, "This path takes GET, HEAD"},
		{"resume read", "GET", "/resume/x", "", nil, 405, "This path takes POST"},
		{"metrics written", "POST", "/metrics", "", nil, 405, "This path takes GET, HEAD"},
		{"health written", "POST", "/healthz", "", nil, 405, "This path takes GET, HEAD"},
		{"unknown method", "DANCE", "/execute", ok, nil, 405, "This path takes POST"},

		{"form", "POST", "/execute", ok, []string{"Content-Type: application/x-www-form-urlencoded"}, 415, plain},
		{"text", "POST", "/execute", ok, []string{"Content-Type: text/plain"}, 415, plain},
		{"no type", "POST", "/execute", ok, []string{"Accept: */*"}, 415, plain},
		{"malformed type", "POST", "/execute", ok, []string{"Content-Type: application/json; charset"}, 415, plain},
		{"other charset", "POST", "/execute", ok, []string{"Content-Type: application/json; charset=latin1"}, 415, plain},
		{"zipped", "POST", "/execute", ok, []string{isjson, "Content-Encoding: gzip"}, 415, "The body is to be plain: leave the header Content-Encoding out"},
		{"resume by form", "POST", "/resume/x", "answer=x", []string{"Content-Type: application/x-www-form-urlencoded"}, 415, plain},

		{"too long", "POST", "/execute", `{"room":"` + testRoom + `","transcript":"` + long + `"}`, nil, 413, "The body is longer than 1024 KiB"},
		{"too long to resume", "POST", "/resume/x", `{"answer":"` + long + `"}`, nil, 413, "The body is longer than 1024 KiB"},
		{"as long as may be", "POST", "/execute", `{"room":"` + testRoom + `","transcript":"` + long[:maxBody-len(`{"room":"`+testRoom+`","transcript":""}`)] + `"}`, nil, 422, "A part of the task is longer than 64 KiB."},
		{"many commands", "POST", "/execute", `{"room":"` + testRoom + `","commands":["a"` + strings.Repeat(`,"a"`, agent.MaxCommands) + `]}`, nil, 422, "A task has at most 64 parts."},

		{"no body", "POST", "/execute", "", nil, 400, "The body is not valid JSON: unexpected end of JSON input, at byte 0"},
		{"without room", "POST", "/execute", `{"transcript":"x"}`, nil, 400, `The field "room" is missing: it is the ID of a room that the bot is in`},
		{"nothing to do", "POST", "/execute", `{"room":"` + testRoom + `","transcript":"","commands":[]}`, nil, 400, `The field "transcript" is missing: it says what is to be done`},
		{"without answer", "POST", "/resume/x", `{}`, nil, 400, `The field "answer" is missing: it is what the question is answered with`},
		{"numeric answer", "POST", "/resume/x", `{"answer":2}`, nil, 400, `The field "answer" is to be a string, not a number`},
		{"empty key", "POST", "/execute", ok, []string{isjson, "Idempotency-Key: "}, 400, "The header Idempotency-Key is to have 1 to 255 characters of ASCII"},
		{"long key", "POST", "/execute", ok, []string{isjson, "Idempotency-Key: " + long[:maxKey+1]}, 400, "The header Idempotency-Key is to have 1 to 255 characters of ASCII"},
		{"two keys", "POST", "/execute", ok, []string{isjson, "Idempotency-Key: a", "Idempotency-Key: b"}, 400, "The header Idempotency-Key is there twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &shelf{}
			base, _ := served(t, s, testToken)
			if tt.header == nil {
				tt.header = []string{isjson}
			}
			got := ask(t, tt.method, base+tt.path, tt.body, append(tt.header, bearer)...)
			if diff := cmp.Diff(said(tt.want), got.body); got.code != tt.code || diff != "" {
				t.Errorf("code %d, want %d; body (-want +got):\n%s", got.code, tt.code, diff)
			}
			if kind := got.head.Get("Content-Type"); kind != "application/json" {
				t.Errorf("Content-Type is %q", kind)
			}
			if allow := got.head.Get("Allow"); tt.code == 405 && "This path takes "+allow != tt.want {
				t.Errorf("Allow is %q", allow)
			}
			if len(s.list) > 0 {
				t.Error("something was begun")
			}
		})
	}
}

// TestLongBodyInPieces: a body that does not say how long it is.
func TestLongBodyInPieces(t *testing.T) {
	base, _ := served(t, &shelf{}, testToken)
	body := io.MultiReader(strings.NewReader(`{"room":"`), strings.NewReader(strings.Repeat("x", maxBody)), strings.NewReader(`"}`))
	req, err := http.NewRequestWithContext(t.Context(), "POST", base+"/execute", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + testToken}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); resp.StatusCode != 413 || string(got) != said("The body is longer than 1024 KiB") {
		t.Errorf("%d %s %v", resp.StatusCode, got, err)
	}
}

func TestHeaders(t *testing.T) {
	s := &shelf{}
	s.waiting(t, "asks")
	base, _ := served(t, s, testToken)
	for _, path := range []string{"/context/asks", "/context/nobody", "/healthz", "/nothing", "/metrics"} {
		got := ask(t, "GET", base+path, "", bearer)
		if got.head.Get("Cache-Control") != "no-store" || got.head.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, got.head)
		}
		head := ask(t, "HEAD", base+path, "", bearer)
		if head.code != got.code || head.body != "" || head.head.Get("Content-Type") != got.head.Get("Content-Type") {
			t.Errorf("HEAD %s: %d %q %v", path, head.code, head.body, head.head)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	s := &shelf{}
	base, _ := served(t, s, testToken)
	body := `{"room":"` + testRoom + `","transcript":"x"}`
	for i, key := range []string{"a", "b", "a", "b"} {
		got := ask(t, "POST", base+"/execute", body, bearer, "Content-Type: application/json;charset=UTF-8", "Idempotency-Key: "+key)
		if want := fmt.Sprintf(`{"session_id":"id-%d","state":"pending"}`+"\n", i%2); got.code != 202 || got.body != want {
			t.Errorf("key %s: %d %s", key, got.code, got.body)
		}
	}
	if len(s.list) != 2 {
		t.Errorf("%d executions, want 2", len(s.list))
	}
}

// fullDisk is an error with a sentence.
type fullDisk struct{}

func (fullDisk) Error() string    { return "write state: ENOSPC" }
func (fullDisk) Sentence() string { return "There is no space left." }

func TestBrokenBot(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		code int
		want string // in the body
		log  bool   // told to the operator
	}{
		{"sentence", fmt.Errorf("execute: %w", fullDisk{}), 503, said("There is no space left."), true},
		{"internal", errors.New("secret detail"), 500, "Something went wrong on my side (internal error ", true},
		{"deadline", fmt.Errorf("execute: %w", context.DeadlineExceeded), 503, said("This took too long, or the bot is ending: ask again, with the same Idempotency-Key"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, log := served(t, &shelf{broken: tt.err}, testToken)
			got := ask(t, "POST", base+"/execute", `{"room":"`+testRoom+`","transcript":"x"}`, bearer, isjson)
			if got.code != tt.code || !strings.Contains(got.body, tt.want) || strings.Contains(got.body, "secret") {
				t.Errorf("%d %s", got.code, got.body)
			}
			if strings.Contains(log.String(), tt.err.Error()) != tt.log {
				t.Errorf("log: %s", log)
			}
		})
	}
	t.Run("panic", func(t *testing.T) {
		base, log := served(t, &shelf{}, testToken)
		got := ask(t, "POST", base+"/execute", `{"room":"`+testRoom+`","transcript":"panic"}`, bearer, isjson)
		if got.code != 500 || got.body != said("Something went wrong on my side; the operator finds it in the log") {
			t.Errorf("%d %s", got.code, got.body)
		}
		if !strings.Contains(log.String(), "panic: ") || strings.Contains(log.String(), "secret text") {
			t.Errorf("log: %s", log)
		}
	})
}

func TestHealth(t *testing.T) {
	for _, tt := range []struct {
		name  string
		shelf *shelf
		code  int
		want  string
	}{
		{"well", &shelf{}, 200, `{"status":"ok","synced":"2026-03-04T05:06:07Z"}`},
		{"ill", &shelf{ill: errors.New("the homeserver does not answer")}, 503, `{"error":"the homeserver does not answer","synced":"2026-03-04T05:06:07Z"}`},
		{"starting", &shelf{starting: true}, 503, `{"error":"The bot is starting: nothing has come from the homeserver yet"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, _ := served(t, tt.shelf, testToken)
			if got := ask(t, "GET", base+"/healthz", ""); got.code != tt.code || got.body != tt.want+"\n" {
				t.Errorf("%d %s", got.code, got.body)
			}
		})
	}
}

// TestStarting: nothing is begun before the bot has come up, and what is known
// can be read.
func TestStarting(t *testing.T) {
	s := &shelf{starting: true}
	e := s.waiting(t, "asks")
	base, _ := served(t, s, testToken)
	for path, body := range map[string]string{"/execute": `{"room":"` + testRoom + `","transcript":"x"}`, "/resume/asks": `{"answer":"x"}`} {
		got := ask(t, "POST", base+path, body, bearer, isjson)
		if got.code != 503 || got.body != said("The bot is starting: nothing has come from the homeserver yet") || got.head.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
	if len(s.list) != 1 || e.State != agent.WaitingForInput {
		t.Errorf("%d executions, the first is %s", len(s.list), e.State)
	}
	if got := ask(t, "GET", base+"/context/asks", "", bearer); got.code != 200 {
		t.Errorf("context: %d %s", got.code, got.body)
	}
}

func TestMetrics(t *testing.T) {
	base, _ := served(t, &shelf{}, testToken)
	for range 2 {
		ask(t, "GET", base+"/context/nobody", "", bearer)
	}
	ask(t, "GET", base+"/wp-admin", "")
	got := ask(t, "GET", base+"/metrics", "", bearer)
	if got.code != 200 || !strings.HasPrefix(got.head.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("%d %v", got.code, got.head)
	}
	for _, line := range []string{
		`matrix_tui_http_requests_total{code="404",route="/context/"} 2`,
		`matrix_tui_http_requests_total{code="401",route="none"} 1`,
		"matrix_tui_test 0", "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(got.body, "\n"+line) {
			t.Errorf("no line %s in\n%s", line, got.body)
		}
	}
}

func TestListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct{ address, want string }{
		{taken.Addr().String(), "API_LISTEN is " + taken.Addr().String() + ", where another program listens already: stop that, or choose another port."},
		{"192.0.2.1:0", "API_LISTEN is 192.0.2.1:0, which is no address of this host: choose one that is, such as 127.0.0.1."},
	} {
		_, err := Listen(t.Context(), tt.address)
		var wrong *ListenError
		if !errors.As(err, &wrong) {
			t.Fatalf("%s: %v", tt.address, err)
		}
		if diff := cmp.Diff(tt.want, wrong.Sentence()); diff != "" {
			t.Errorf("sentence (-want +got):\n%s", diff)
		}
	}
}
