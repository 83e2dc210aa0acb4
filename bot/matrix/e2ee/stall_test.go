package e2ee

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"maunium.net/go/mautrix/id"
)

// dead is a proxy in which the homeserver waits for that of some users, which does not
// answer, before it answers requests for their keys.
type dead struct {
	at *url.URL

	mu     sync.Mutex
	users  map[id.UserID]chan struct{} // closed when the user's homeserver is back
	held   chan string                 // the path of each request that waits
	refuse string                      // paths that end so are answered with 502
	answer func(path string, body []byte) []byte
}

// set changes the proxy while it is used.
func (d *dead) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

func newDead(t *testing.T) *dead {
	t.Helper()
	needHome(t)
	to, err := url.Parse(home)
	if err != nil {
		t.Fatal(err)
	}
	d := &dead{users: map[id.UserID]chan struct{}{}, held: make(chan string, 100)}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = d.change
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		if d.refuses(r.URL.Path) {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if back := d.waitsFor(r, body); back != nil {
			d.held <- r.URL.Path
			select {
			case <-back:
			case <-r.Context().Done():
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	if d.at, err = url.Parse(server.URL); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *dead) refuses(path string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refuse != "" && strings.HasSuffix(path, d.refuse)
}

// change changes an answer of the homeserver.
func (d *dead) change(resp *http.Response) error {
	d.mu.Lock()
	answer := d.answer
	d.mu.Unlock()
	if answer == nil {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	body = answer(resp.Request.URL.Path, body)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

func (d *dead) waitsFor(r *http.Request, body []byte) chan struct{} {
	if !strings.HasSuffix(r.URL.Path, "/keys/query") && !strings.HasSuffix(r.URL.Path, "/keys/claim") {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for user, back := range d.users {
		if bytes.Contains(body, []byte(user)) {
			return back
		}
	}
	return nil
}

// gone makes a user's homeserver not answer until the returned function is called.
func (d *dead) gone(p *peer) (back func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := make(chan struct{})
	d.users[p.cli.UserID] = wait
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.users, p.cli.UserID)
		close(wait)
	}
}

// begin encrypts a message in the background.
func (p *peer) begin(room string) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, _, err := p.m.Encrypt(p.t.Context(), room, "m.room.message", []byte(`{"msgtype":"m.text","body":"slow"}`))
		ended <- err
	}()
	return ended
}

// A homeserver that does not answer for its users' devices or one-time keys delays only
// their rooms: others send, receive and create keys meanwhile.
func TestDeadServerStallsOneRoom(t *testing.T) {
	d := newDead(t)
	bot := enter(t, "bot", func(c *Config) { c.Client.HomeserverURL = d.at })
	alice, bob := enter(t, "alice"), enter(t, "bob")
	far, near := alice.room(bot), bob.room(bot)
	others := func(words string) {
		t.Helper()
		if got := bot.reads(near, bob.say(near, words)); got != words {
			t.Errorf("reads %q, want %q", got, words)
		}
		if got := bob.reads(near, bot.say(near, words)); got != words {
			t.Errorf("%s reads %q, want %q", bob.cli.UserID, got, words)
		}
		if err := bot.m.fetchDevices(t.Context(), []id.UserID{bot.cli.UserID}); err != nil {
			t.Error(err)
		}
	}
	back := d.gone(alice)
	ended := bot.begin(far)
	if path := <-d.held; !strings.HasSuffix(path, "/keys/query") {
		t.Fatalf("held %s", path)
	}
	others("while the devices are fetched")
	back()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}

	carol := enter(t, "carol")
	third := carol.room(bot)
	bot.sync()
	if err := bot.m.fetchDevices(t.Context(), []id.UserID{carol.cli.UserID}); err != nil {
		t.Fatal(err)
	}
	back = d.gone(carol)
	ended = bot.begin(third)
	if path := <-d.held; !strings.HasSuffix(path, "/keys/claim") {
		t.Fatalf("held %s", path)
	}
	others("while one-time keys are claimed")
	dave := enter(t, "dave")
	fourth := dave.room(bot)
	if got := dave.reads(fourth, bot.say(fourth, "new key")); got != "new key" {
		t.Errorf("reads %q", got)
	}
	back()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := carol.reads(third, bot.say(third, "back")); got != "back" {
		t.Errorf("reads %q", got)
	}
}

// Decrypt does not wait for a dead homeserver for long, and KeyArrived says when it is
// back.
func TestDeadServerOfSender(t *testing.T) {
	d := newDead(t)
	came := make(chan Key, 100)
	bot := enter(t, "bot", func(c *Config) {
		c.Client.HomeserverURL, c.KeyArrived = d.at, func(k Key) { came <- k }
	})
	alice := enter(t, "alice")
	room := alice.room(bot)
	message := alice.say(room, "hello")
	back := d.gone(alice)
	raw := bot.event(room, message)
	var noKey *NoKeyError
	for range 2 {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), fetchTime)
		_, err := decrypted(bot.m, ctx, room, raw)
		cancel()
		if !errors.As(err, &noKey) || !noKey.Unproven || time.Since(begun) > fetchTime/2 {
			t.Fatalf("after %s: %v", time.Since(begun), err)
		}
	}
	for len(came) > 0 {
		<-came
	}
	back()
	if key := <-came; key != noKey.Key {
		t.Errorf("%v arrived, want %v", key, noKey.Key)
	}
	if got := bot.reads(room, message); got != "hello" {
		t.Errorf("reads %q", got)
	}
}

// A user whose homeserver has not answered for long can read what was said meanwhile.
func TestDeadServerForLong(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	bot.reads(room, alice.say(room, "hello"))
	users := []id.UserID{alice.cli.UserID}
	for range 110 {
		if err := bot.m.store.MarkTrackedUsersOutdated(t.Context(), users); err != nil {
			t.Fatal(err)
		}
		if _, err := bot.m.stored(users, []byte(`{"device_keys":{},"failures":{"localhost":{}}}`), bot.changes(alice)); err != nil {
			t.Fatal(err)
		}
	}
	if got := alice.reads(room, bot.say(room, "for when you are back")); got != "for when you are back" {
		t.Errorf("reads %q", got)
	}
	alice.second()
	bot.knows(alice)
}
