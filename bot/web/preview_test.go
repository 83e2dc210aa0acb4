package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/bot"
	"matrix-tui/sandbox"
	"matrix-tui/state"
)

// Processes lists one, with a hostile name.
func (h *house) Processes(_ context.Context, v state.Visitor, room string) ([]bot.Process, bool, error) {
	if v.User != "@alice:h" || room != "!den:h" {
		return nil, false, bot.ErrNoRoom
	}
	if h.program == "" {
		return nil, false, sandbox.ErrNoOffer
	}
	one := bot.Process{}
	one.PID, one.Command, one.Ports = 7, "serve "+hostile, []int{3128, 8000}
	return []bot.Process{one}, false, nil
}

func (h *house) Sees(_ context.Context, v state.Visitor, room string) error {
	if v.User != "@alice:h" || room != "!den:h" {
		return bot.ErrNoRoom
	}
	return nil
}

func (h *house) Dial(ctx context.Context, v state.Visitor, room string, port int) (net.Conn, error) {
	if err := h.Sees(ctx, v, room); err != nil {
		return nil, err
	}
	if port != 8000 || h.program == "" {
		return nil, sandbox.ErrNoListener
	}
	return new(net.Dialer).DialContext(ctx, "tcp", h.program)
}

var previewLink = regexp.MustCompile(`href="(http://([a-z0-9]+\.localhost:[0-9]+)/[^"]+)"`)

// opened opens a preview of port 8000, and returns its link and its origin.
func (b *browser) opened() (link, origin string) {
	b.Helper()
	_, body := b.post("/r/!den:h/preview", "port", "8000")
	found := previewLink.FindStringSubmatch(body)
	if found == nil {
		b.Fatalf("no link in %s", body)
	}
	return found[1], "http://" + found[2]
}

// reads gets an address, and returns the status and the text.
func (b *browser) reads(address string) (int, string, http.Header) {
	b.Helper()
	resp, text := b.read(b.http.Get(address))
	return resp.StatusCode, text, resp.Header
}

// A program of the container is seen on another origin, by the browser that has opened it, until that signs out. It gets
// no cookie of the page, and changes none.
func TestPreview(t *testing.T) {
	h, browse := newHouse(t)
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://"+r.Host+"/there", http.StatusFound)
			return
		}
		w.Header().Add("Set-Cookie", "own=1")
		w.Header().Add("Set-Cookie", "session=stolen; Domain=localhost")
		w.Header().Add("Set-Cookie", "preview=stolen")
		w.Header().Set("Clear-Site-Data", `"cookies"`)
		fmt.Fprintf(w, "%s %s, cookies %q", r.Host, r.URL, r.Header["Cookie"])
	}))
	defer program.Close()
	h.program = strings.TrimPrefix(program.URL, "http://")
	alice, mallory := browse(), browse()
	alice.signIn(h, "@alice:h")
	mallory.signIn(h, "@mallory:h")
	alice.wants(200, `value="8000"`)(alice.get("/r/!den:h/processes"))
	mallory.wants(404, "no such page")(mallory.get("/r/!den:h/processes"))
	mallory.wants(404, "no such page")(mallory.get("/r/!den:h/processes/live"))
	mallory.wants(404, "no such page")(mallory.post("/r/!den:h/preview", "port", "8000"))
	for port, said := range map[string]string{"3128": "not a port", "x": "not a port", "70000": "not a port", "8001": "accepts connections"} {
		if status, body := alice.post("/r/!den:h/preview", "port", port); status < 400 || !strings.Contains(body, said) {
			t.Errorf("port %s: %d, %s", port, status, body)
		}
	}

	link, origin := alice.opened()
	if status, body, _ := mallory.reads(origin + "/"); status != 403 {
		t.Errorf("without a ticket: %d, %s", status, body)
	}
	if status, body, _ := mallory.reads(link + "x"); status != 403 {
		t.Errorf("with another ticket: %d, %s", status, body)
	}
	status, body, header := alice.reads(link)
	if status != 200 || body != "localhost:8000 /, cookies []" || header.Get("Clear-Site-Data") != "" ||
		strings.Join(header["Set-Cookie"], ";") != "own=1;session=stolen" {
		t.Errorf("%d, %q, %v", status, body, header)
	}
	if status, body, _ := alice.reads(origin + "/a?b=c"); status != 200 || body != `localhost:8000 /a?b=c, cookies ["own=1; session=stolen"]` {
		t.Errorf("%d, %q", status, body)
	}
	if status, body, _ := alice.reads(origin + "/away"); status != 200 || !strings.HasPrefix(body, "localhost:8000 /there") {
		t.Errorf("%d, %q", status, body)
	}
	if status, body, _ := alice.reads(link); status != 200 || !strings.HasPrefix(body, "localhost:8000 /,") {
		t.Errorf("the link, again in the same browser: %d, %s", status, body)
	}
	if status, body, _ := mallory.reads(link); status != 403 {
		t.Errorf("the ticket was used twice: %d, %s", status, body)
	}
	for _, path := range []string{"/r/!den:h", "/static/style.css"} {
		if status, body, _ := alice.reads(origin + path); status != 200 || !strings.HasPrefix(body, "localhost:8000 ") {
			t.Errorf("the page is on the origin of the preview: %d, %s", status, body)
		}
	}
	if _, other := alice.opened(); other == origin {
		t.Error("two previews have one origin")
	}
	if status, body, _ := alice.reads(origin + "/"); status != 404 || !strings.Contains(body, "has ended") {
		t.Errorf("it was opened again: %d, %s", status, body)
	}
	link, origin = alice.opened()
	alice.reads(link)
	alice.post("/signout")
	if status, body, _ := alice.reads(origin + "/"); status != 404 || !strings.Contains(body, "has ended") {
		t.Errorf("after signing out: %d, %s", status, body)
	}
}

// Without a domain for them, there are no previews.
func TestNoPreviews(t *testing.T) {
	h := &house{sessions: map[string]string{"s": "@alice:h"}, program: "127.0.0.1:1"}
	page := New(t.Context(), h, h, Address{Page: &url.URL{Scheme: "https", Host: "bot.example.org"}}, zerolog.Nop())
	r := httptest.NewRequest("POST", "/r/!den:h/preview", strings.NewReader("port=8000"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: "__Host-session", Value: "s"})
	w := httptest.NewRecorder()
	if page.ServeHTTP(w, r); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), noPage) {
		t.Errorf("%d, %s", w.Code, w.Body)
	}
}

// A program gets the cookies that it has set, and no others; it sets none for other hosts, and tells no proxy anything.
func TestPreviewGuard(t *testing.T) {
	one := &preview{jar: map[string]string{}}
	header := http.Header{"Set-Cookie": {"a=1; Domain =example.org", "b=1; Domain=\texample.org; HttpOnly", "c=1; Domain=example.org; Path=/x",
		"preview=1", "sso=mine", "gone=1; Max-Age=-1"}, "X-Accel-Redirect": {"/internal"}, "Clear-Site-Data": {`"cookies"`}, "X-Own": {"1"}}
	one.guardAnswer(header, "preview")
	want := http.Header{"Set-Cookie": {"a=1", "b=1; HttpOnly", "c=1; Path=/x", "sso=mine", "gone=1; Max-Age=0"}, "X-Own": {"1"},
		"X-Robots-Tag": {"noindex"}, "Origin-Agent-Cluster": {"?1"}}
	if diff := cmp.Diff(want, header); diff != "" {
		t.Error(diff)
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header = http.Header{"Cookie": {"a=1; sso=secret; c=2; preview=1; other=1"}, "Authorization": {"Basic eHl6"}, "Remote-User": {"alice"},
		"Cf-Access-Jwt-Assertion": {"x"}, "X-Requested-With": {"fetch"}}
	one.guardRequest(r)
	if diff := cmp.Diff(http.Header{"Cookie": {"a=1"}, "X-Requested-With": {"fetch"}}, r.Header); diff != "" {
		t.Error(diff)
	}
	for i := range 2 * maxCookies {
		one.guardAnswer(http.Header{"Set-Cookie": {fmt.Sprintf("c%d=1", i), "big=" + strings.Repeat("x", maxCookie)}}, "preview")
	}
	if len(one.jar) > maxCookies || one.jar["big"] != "" {
		t.Errorf("%d cookies", len(one.jar))
	}
}

// A connection that a program has taken over ends with the preview, even if nobody reads from it.
func TestPreviewUpgrade(t *testing.T) {
	h, browse := newHouse(t)
	ended := make(chan error, 1)
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		for data := make([]byte, 1<<16); err == nil; {
			_, err = conn.Write(data)
		}
		ended <- err
	}))
	defer program.Close()
	h.program = strings.TrimPrefix(program.URL, "http://")
	alice := browse()
	alice.signIn(h, "@alice:h")
	link, origin := alice.opened()
	alice.reads(link)
	at, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(alice.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", at.Host, alice.http.Jar.Cookies(at)[0])
	if line, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); !strings.Contains(line, " 101 ") {
		t.Fatalf("%q, %v", line, err)
	}
	alice.post("/signout")
	<-ended
	for rest, buf := 0, make([]byte, 1<<20); ; { // what is on its way, and then the end
		n, err := conn.Read(buf)
		if rest += n; err != nil {
			break
		}
		if rest > 64<<20 {
			t.Fatal("the connection goes on")
		}
	}
}

// A visitor has few previews open, and all have not too many.
func TestPreviewBounds(t *testing.T) {
	h, _ := newHouse(t)
	p := &previews{bot: h, box: h, life: t.Context(), domain: "localhost", all: map[string]*preview{}}
	for i := range 3 * maxOfVisitor {
		if _, err := p.open(&preview{user: "alice", room: "!den:h", port: 8000 + i}); err != nil {
			t.Fatal(err)
		}
	}
	open := 0
	p.mu.Lock()
	for _, one := range p.all {
		if one.ctx.Err() == nil {
			open++
		}
	}
	p.mu.Unlock()
	if open > maxOfVisitor {
		t.Errorf("%d previews are open", open)
	}
	var err error
	for i := range 2 * maxPreviews {
		if _, err = p.open(&preview{user: fmt.Sprint(i), room: "!den:h", port: 8000}); err != nil {
			break
		}
	}
	if !errors.Is(err, errPreviews) {
		t.Errorf("%v", err)
	}
}
