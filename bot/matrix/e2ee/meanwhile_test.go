package e2ee

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/matrix/decode"
)

// on calls f when the homeserver has answered requests to such a path, before the bot gets
// the answer: 1 for the first.
func (d *dead) on(suffix string, f func(n int64)) {
	var n atomic.Int64
	d.set(func() {
		d.answer = func(path string, body []byte) []byte {
			if strings.HasSuffix(path, suffix) {
				f(n.Add(1))
			}
			return body
		}
	})
}

// Members that change while they are fetched are fetched again, because the answer may be
// older than the change.
func TestMembersChangeMeanwhile(t *testing.T) {
	d := newDead(t)
	bot := enter(t, "bot", func(c *Config) { c.Client.HomeserverURL = d.at })
	alice := enter(t, "alice")
	room := alice.room(bot)
	bot.sync()
	if err := bot.m.rooms.forget(t.Context(), id.RoomID(room)); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	d.on("/members", func(n int64) {
		asked.Store(n)
		if n > 1 {
			return
		}
		gone := json.RawMessage(`{"type":"m.room.member","event_id":"$1","sender":"@gone:localhost","state_key":"@gone:localhost","content":{"membership":"leave"}}`)
		if err := bot.m.ProcessState(context.Background(), room, false, decode.Timeline(room, []json.RawMessage{gone}, func(err error) { t.Error(err) })); err != nil {
			t.Error(err)
		}
	})
	if err := bot.m.learnMembers(t.Context(), id.RoomID(room)); err != nil || asked.Load() != 2 {
		t.Errorf("asked %d times, %v", asked.Load(), err)
	}
}

// Devices that change while they are fetched are fetched again before the next message.
func TestDevicesChangeMeanwhile(t *testing.T) {
	d := newDead(t)
	bot := enter(t, "bot", func(c *Config) { c.Client.HomeserverURL = d.at })
	alice := enter(t, "alice")
	room := alice.room(bot)
	bot.sync()
	var asked atomic.Int64
	user := []id.UserID{alice.cli.UserID}
	d.on("/keys/query", func(n int64) {
		asked.Store(n)
		if n > 1 {
			return
		}
		var s Sync
		s.DeviceLists.Changed = user
		if err := bot.m.ProcessSync(context.Background(), s, false); err != nil {
			t.Error(err)
		}
	})
	if err := bot.m.fetchDevices(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	outdated, err := bot.m.store.GetOutdatedTrackedUsers(t.Context())
	if err != nil || !slices.Contains(outdated, user[0]) || !bot.m.asksAgain(user[0], lookAgain) {
		t.Errorf("outdated: %v, %v", outdated, err)
	}
	before := asked.Load()
	if got := alice.reads(room, bot.say(room, "hello")); got != "hello" || asked.Load() == before {
		t.Errorf("reads %q, asked %d times", got, asked.Load()-before)
	}
}
