package kube

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// upgraded reads the gateway's answer to an offer.
func upgraded(t *testing.T, conn io.Reader) *bufio.Reader {
	t.Helper()
	reader := bufio.NewReader(conn)
	reply, err := http.ReadResponse(reader, nil)
	if err != nil || reply.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%+v, %v", reply, err)
	}
	return reader
}

func all(t *testing.T, from io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A relay and a door carry an upgraded connection, of which each direction ends by itself.
func TestRelayed(t *testing.T) {
	w := newWorld(t)
	p := w.relay(w.public)
	big := strings.Repeat("0123456789", 100_000)
	for _, text := range []string{"", "x", "hello", big} {
		conn := p.offer()
		o := w.offered()
		if o.room != denRoom {
			t.Fatalf("room %s", o.room)
		}
		back := upgraded(t, conn)
		go func() {
			io.WriteString(conn, text)
			conn.CloseWrite()
		}()
		if got := all(t, o.conn); got != text {
			t.Errorf("%d bytes of %d arrive", len(got), len(text))
		}
		go func() {
			io.WriteString(o.conn, "reply "+text)
			o.conn.Close()
		}()
		if got := all(t, back); got != "reply "+text {
			t.Errorf("%d bytes of %d come back", len(got), len(text))
		}
	}
	if got := w.reviews(); len(got) != 1 {
		t.Errorf("the token was reviewed %d times", len(got))
	}
	w.wait("end of all connections", func() bool { return w.joined() == 0 })
	if got := w.told(); got != (told{welcomed: 4}) {
		t.Errorf("%+v", got)
	}
}

// The relay reads its token again for each connection.
func TestTokenRotates(t *testing.T) {
	w := newWorld(t)
	p := w.relay(w.public)
	p.offer()
	w.offered()
	p.rotate(theToken + "2\n")
	p.offer()
	w.offered()
	if got := w.reviews(); !slices.Equal(got, []string{theToken, theToken + "2"}) {
		t.Errorf("reviewed: %d tokens", len(got))
	}
}

// While the bot is away, the relay holds connections, and drops those whose client has gone. Two seconds after the bot
// is back, at the latest, they arrive.
func TestBotRestarts(t *testing.T) {
	w := newWorld(t)
	p := w.relay(w.public)
	conn := p.offer()
	o := w.offered()
	upgraded(t, conn)
	w.end()
	for name, end := range map[string]io.Reader{"gateway": o.conn, "client": conn} {
		if text, _ := io.ReadAll(end); len(text) != 0 {
			t.Errorf("the %s gets %q", name, text)
		}
	}
	for range 20 {
		p.offer().Close()
	}
	held := p.offer()
	time.Sleep(1500 * time.Millisecond) // until the pauses are the longest
	begun := time.Now()
	w.open(w.address)
	o = w.offered()
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("back after %v", took)
	}
	upgraded(t, held)
	io.WriteString(held, "held")
	var four [4]byte
	if _, err := io.ReadFull(o.conn, four[:]); err != nil || string(four[:]) != "held" {
		t.Errorf("%q, %v", four, err)
	}
	time.Sleep(600 * time.Millisecond) // the longest pause
	if got := w.told().welcomed; got != 2 {
		t.Errorf("%d connections, but only 2 clients have not gone", got)
	}
}

// The API server's silence is no refusal: the relay holds its client until the bot knows.
func TestClusterAway(t *testing.T) {
	w := newWorld(t)
	p := w.relay(w.public)
	for name, broken := range map[string]http.HandlerFunc{
		"no answer":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"overloaded":  says(http.StatusTooManyRequests),
		"broken":      says(http.StatusInternalServerError),
		"no right":    says(http.StatusForbidden),
		"not JSON":    func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") },
		"not granted": says(http.StatusUnauthorized),
	} {
		w.change(func() { w.broken = broken })
		if got := w.answer(theToken + name[:1] + "\n"); got != "nothing" {
			t.Errorf("%s: the answer is %s", name, got)
		}
	}
	failed := w.told().failed
	conn := p.offer()
	w.wait("second try", func() bool { return w.told().failed >= failed+2 })
	w.change(func() { w.broken = nil })
	w.offered()
	upgraded(t, conn)
	if got := w.told().refused; got != 0 {
		t.Errorf("%d refused", got)
	}
}

// says answers with an error that repeats what was sent, as the API server does with what it finds invalid.
func says(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		http.Error(w, string(sent), code)
	}
}

// A refused relay closes its client's connections and says so once.
func TestRelayRefused(t *testing.T) {
	w := newWorld(t)
	w.change(func() { w.review["authenticated"] = false })
	p := w.relay(w.public)
	for range 3 {
		if text, err := io.ReadAll(p.offer()); len(text) != 0 || err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%q, %v", text, err)
		}
	}
	if got := p.stderr.String(); got != "boxinit: the bot refuses this pod\n" {
		t.Errorf("%q", got)
	}
	if got := w.told(); got.refused != 3 || len(w.reviews()) != 1 {
		t.Errorf("%+v, %d reviews", got, len(w.reviews()))
	}
}

// A relay gives its token to nobody but the bot.
func TestOtherCertificate(t *testing.T) {
	w := newWorld(t)
	_, other, err := Certificate(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := w.relay(other)
	p.offer()
	w.wait("third try", func() bool { return w.told().failed >= 3 })
	if got := p.stderr.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "not the bot") {
		t.Errorf("%q", got)
	}
	if got := w.told(); len(w.reviews()) != 0 || got.welcomed+got.refused != 0 {
		t.Errorf("%+v, %d reviews", got, len(w.reviews()))
	}
}
