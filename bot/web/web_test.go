package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"matrix-tui/state/execution"
)

func TestSignIn(t *testing.T) {
	h, open := newHouse(t)
	alice, mallory := open(), open()
	alice.wants(401, "!page")(alice.get("/"))
	code := alice.code("/t/one")
	if alice.code("/") != code || mallory.code("/") == code {
		t.Error("a browser has another code each time, or the code of another one")
	}
	alice.wants(401, "Send the code below to the bot")(alice.post("/signin", "number", "123456"))
	h.admitted[code] = "@alice:h"
	mallory.wants(401, "Send the code below to the bot")(mallory.post("/signin", "number", "123456")) // who may have read both
	alice.wants(401, "Send the code below to the bot")(alice.post("/signin", "number", "000000"))
	alice.wants(200, "Your answer")(alice.post("/signin", "number", "123456", "next", "/t/one"))
	alice.wants(200, "@alice:h")(alice.get("/"))
	alice.http.Jar.SetCookies(alice.url(), []*http.Cookie{{Name: "session", Path: "/", MaxAge: -1}})
	alice.wants(401, "!page")(alice.post("/signin", "number", "123456")) // the code is used up
	if alice.code("/") == code {
		t.Error("a code comes again after it was used")
	}
	for _, path := range []string{"//evil.example", "https://evil.example", "/t//evil.example", `/t/\evil.example`, "/r/../../x"} {
		if isNext(path) {
			t.Errorf("signing in can lead to %s", path)
		}
	}
	for _, path := range []string{"/t/one", "/operator", "/r/!den:h/files/a%20b/c?saved=1"} {
		if !isNext(path) {
			t.Errorf("signing in cannot lead to %s", path)
		}
	}
	// a session is a new one, whatever the browser had before, and ends the old one
	alice.signIn(h, "@alice:h")
	old := alice.http.Jar.Cookies(alice.url())[0].Value
	alice.signIn(h, "@bob:h")
	if h.sessions[old] != "" {
		t.Error("the session before still counts")
	}
	mallory.http.Jar.SetCookies(mallory.url(), []*http.Cookie{{Name: "session", Value: "fixed", Path: "/"}})
	mallory.signIn(h, "@mallory:h")
	if c := mallory.http.Jar.Cookies(mallory.url()); len(c) != 1 || c[0].Value == "fixed" {
		t.Errorf("cookies %v", c)
	}
	alice.wants(200, "signed out")(alice.post("/signout"))
	alice.wants(401, "!page")(alice.get("/"))
	h.starting = true
	alice.wants(503, "The bot is starting")(alice.get("/"))
}

func TestStrangersSeeNothing(t *testing.T) {
	h, open := newHouse(t)
	mallory := open()
	mallory.signIn(h, "@mallory:h")
	if _, body := mallory.get("/"); strings.Contains(body, "Den") {
		t.Error("a stranger sees rooms")
	}
	for _, path := range []string{"/r/!den:h", "/r/%21den:h", "/r/!den:h/memory", "/t/one", "/t/one/live", "/t/..%2f..%2fetc%2fpasswd", "/static/../web.go", "/x", "/operator"} {
		mallory.wants(404, "")(mallory.get(path))
	}
	mallory.wants(404, "no such page")(mallory.post("/t/one/answer", "question", "1", "answer", "yes"))
	if len(h.answered) != 0 {
		t.Error("a stranger has answered")
	}
}

func TestTask(t *testing.T) {
	h, open := newHouse(t)
	alice := open()
	alice.signIn(h, "@alice:h")
	alice.wants(200, "1 question")(alice.get("/"))
	alice.wants(200, "sandbox-den</code> used 3 MB of disk, 0 s ago.\nThe agent in it is Gemini CLI 0.99&lt;")(alice.get("/r/!den:h"))
	alice.wants(200, "The model is <code>flash</code>.")(alice.get("/r/!den:h"))
	if _, body := alice.get("/r/!den:h"); strings.Count(body, "<rect") != 2 || !strings.Contains(body, "at most 9,000") {
		t.Errorf("the chart has another number of bars than of days with tokens: %s", body)
	}
	alice.wants(200, "found paint")(alice.get("/r/!den:h/memory?q=paint"))
	alice.wants(200, "I will remember x")(alice.post("/r/!den:h/memory", "do", "add", "text", "x"))
	alice.wants(200, "I have forgotten x")(alice.post("/r/!den:h/memory", "do", "forget", "text", "x"))
	alice.wants(400, "incomplete")(alice.post("/r/!den:h/memory", "do", "forget", "text", " "))
	alice.wants(200, "Your answer")(alice.get("/t/one"))
	alice.wants(400, "incomplete")(alice.post("/t/one/answer", "answer", "yes"))
	alice.wants(400, "incomplete")(alice.post("/t/one/answer", "question", "1", "answer", strings.Repeat("x", maxBody)))
	alice.wants(200, "")(alice.post("/t/one/answer", "question", "1", "answer", "the first"))
	alice.wants(409, "already answered by bob")(alice.post("/t/one/answer", "question", "1", "answer", "the second"))
	alice.wants(409, "<pre>the second</pre>")(alice.post("/t/one/answer", "question", "1", "answer", "the second"))
	alice.wants(200, "I found two paints.")(alice.get("/t/one"))
	alice.wants(200, "So far: 2 steps · 4 s · 17,772 tokens")(alice.get("/t/one"))
	alice.wants(200, "<b>2 kB</b>")(alice.get("/t/one"))
	alice.wants(200, "It is too large.")(alice.get("/t/one"))
	alice.wants(200, "")(alice.post("/t/one/stop"))
	h.task.State, h.result = execution.Done, "painted"
	alice.wants(200, "<b>3 MB</b>")(alice.get("/t/one"))
	alice.wants(200, ">Used: 2 steps")(alice.get("/t/one"))
	if !slices.Equal(h.answered, []string{"the first"}) || h.stopped != 1 {
		t.Errorf("answered %q, stopped %d times", h.answered, h.stopped)
	}
}

// Owners see the bot and its host; nobody else does, or learns that there is such a page.
func TestOperator(t *testing.T) {
	h, open := newHouse(t)
	alice, mallory := open(), open()
	alice.wants(401, `value="/operator"`)(alice.get("/operator"))
	alice.signIn(h, "@alice:h")
	alice.wants(200, `<a href="/operator">`)(alice.get("/"))
	for _, want := range []string{"matrix-tui v1.2.0, started 3 h ago", "<code>/x</code> &lt;script&gt;", "1 GB of memory",
		`<b class="on">ok</b> podman 5.4.2 &lt;script&gt;`, `<b class="asks">FAIL</b> image x`, "<b>skip</b> /long"} {
		alice.wants(200, want)(alice.get("/operator"))
	}
	mallory.signIn(h, "@mallory:h")
	_, nothing := mallory.get("/r/!den:h")
	mallory.wants(404, nothing)(mallory.get("/operator"))
	if _, body := mallory.get("/"); strings.Contains(body, "/operator") {
		t.Error("the header leads others to the operator's page")
	}
}

// A form on another site cannot act for somebody who has signed in, and no site can show the page in a frame.
func TestOtherSites(t *testing.T) {
	h, open := newHouse(t)
	alice := open()
	alice.signIn(h, "@alice:h")
	form := url.Values{"question": {"1"}, "answer": {"yes"}}
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		alice.wants(403, "Another site")(alice.do("POST", "/t/one/answer", form, headers...))
		alice.wants(403, "Another site")(alice.do("POST", "/t/one/stop", nil, headers...))
		alice.wants(403, "Another site")(alice.do("POST", "/signin", nil, headers...))
	}
	if len(h.answered) != 0 || h.stopped != 0 {
		t.Error("another site has acted")
	}
	for _, want := range []string{"frame-ancestors 'none'", "default-src 'none'", "form-action 'self'", "script-src 'self'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %q", want)
		}
	}
}

// A preview, which is the same site, reads nothing with the cookies of somebody who has signed in.
func TestFetched(t *testing.T) {
	h, open := newHouse(t)
	alice := open()
	alice.signIn(h, "@alice:h")
	for headers, status := range map[string]int{
		"same-origin cors empty": 200, "none navigate document": 200, "cross-site navigate document": 200, "same-site navigate document": 200,
		"same-site no-cors empty": 403, "cross-site no-cors script": 403, "same-site navigate iframe": 403, "same-site cors empty": 403,
	} {
		is := strings.Fields(headers)
		got, _ := alice.do("GET", "/r/!den:h", nil, "Sec-Fetch-Site", is[0], "Sec-Fetch-Mode", is[1], "Sec-Fetch-Dest", is[2])
		if got != status {
			t.Errorf("%s: %d, want %d", headers, got, status)
		}
	}
}

func TestCookieByHTTPS(t *testing.T) {
	s := &site{secure: true}
	c := s.cookie(sessionCookie, "x", time.Now().Add(time.Hour))
	if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || !strings.HasPrefix(c.Name, "__Host-") {
		t.Errorf("%+v", c)
	}
}

func TestLive(t *testing.T) {
	h, open := newHouse(t)
	alice := open()
	alice.signIn(h, "@alice:h")
	h.task.State, h.progress = execution.Running, "step 1: look"
	resp, err := alice.http.Get(alice.base + "/t/one/live")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	read := func(want string) {
		t.Helper()
		var got strings.Builder
		for buf := make([]byte, 1); !strings.Contains(got.String(), want); {
			n, err := resp.Body.Read(buf)
			if got.Write(buf[:n]); err != nil {
				t.Fatalf("%v before %q: %s", err, want, got.String())
			}
		}
	}
	read("step 1")
	h.mu.Lock()
	h.progress = "step 2: " + hostile
	h.mu.Unlock()
	read("step 2")
	h.mu.Lock()
	h.result, h.task.State, h.sending = "all done", execution.Done, true
	h.mu.Unlock()
	read("all done")
	h.mu.Lock()
	h.sending = false
	h.mu.Unlock()
	read("event: end")
}

// A visitor who opens many live pages leaves some to others.
func TestPlaces(t *testing.T) {
	s := places{most: maxStreams, mostOf: maxStreamsOf}
	for i := range 2 * maxStreamsOf {
		if ok := s.begin("alice"); ok != (i < maxStreamsOf) {
			t.Errorf("stream %d: %t", i, ok)
		}
	}
	if !s.begin("bob") {
		t.Error("bob has none")
	}
	s.end("alice")
	if !s.begin("alice") || s.begin("alice") {
		t.Error("one has ended, and another one cannot begin")
	}
	for i := 0; s.begin(fmt.Sprint(i)); i++ {
	}
	if s.all != maxStreams {
		t.Errorf("%d streams", s.all)
	}
}
