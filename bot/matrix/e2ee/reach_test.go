package e2ee

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"maunium.net/go/mautrix/id"
)

// claims counts a client's requests for one-time keys.
type claims struct{ atomic.Int64 }

func (c *claims) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/keys/claim") {
		c.Add(1)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// A device that had no one-time key when the room key was shared gets the room key with
// the next message or a later one.
func TestDeviceWithoutOneTimeKey(t *testing.T) {
	asked := &claims{}
	alice, bot := enter(t, "alice"), enter(t, "bot", func(c *Config) { c.Client.Client = &http.Client{Transport: asked} })
	room := alice.room(bot)
	exhaust(t, enter(t, "mallory"), alice)
	lost := bot.event(room, bot.say(room, "one"))
	bot.say(room, "two")
	before := asked.Load()
	for range 5 {
		bot.say(room, "more")
	}
	if asked.Load() != before {
		t.Errorf("%d more requests for keys of a device that has none", asked.Load()-before)
	}
	alice.m.counted = time.Time{} // as if she had not just asked
	alice.sync()                  // she has keys again
	a := bot.m.again[id.RoomID(room)]
	if time.Until(a.next) > reachPause {
		t.Fatalf("does not look again: %+v", a)
	}
	a.next = time.Now()
	bot.m.again[id.RoomID(room)] = a
	msg := bot.say(room, "now you can")
	if got := alice.reads(room, msg); got != "now you can" {
		t.Errorf("she reads %q", got)
	}
	var noKey *NoKeyError
	if _, err := decrypted(alice.m, t.Context(), room, lost); !errors.As(err, &noKey) {
		t.Errorf("the earlier message: %v", err)
	}
	before = asked.Load()
	bot.restart()
	if got := alice.reads(room, bot.say(room, "and still")); got != "and still" || asked.Load() != before {
		t.Errorf("she reads %q after %d more requests", got, asked.Load()-before)
	}
}
