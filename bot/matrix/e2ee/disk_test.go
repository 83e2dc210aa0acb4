package e2ee

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"maunium.net/go/mautrix/id"
)

// Keys that arrive while the disk is full are not lost: the batch is processed again.
func TestKeysSurviveTheDisk(t *testing.T) {
	for _, table := range []string{"crypto_megolm_inbound_session", "crypto_olm_session", "crypto_olm_message_hash"} {
		t.Run(table, func(t *testing.T) {
			alice, bot := enter(t, "alice"), enter(t, "bot")
			room := alice.room(bot)
			msg := alice.say(room, "keep this")
			full := fmt.Sprintf("CREATE TRIGGER full BEFORE INSERT ON %s BEGIN SELECT RAISE(ABORT, 'disk full'); END", table)
			if _, err := bot.m.db.Exec(t.Context(), full); err != nil {
				t.Fatal(err)
			}
			resp := bot.fetchKeys()
			if err := bot.m.ProcessSync(t.Context(), resp.Sync, false); err == nil {
				t.Fatal("no error although keys were not stored")
			}
			if _, err := bot.m.db.Exec(t.Context(), "DROP TRIGGER full"); err != nil {
				t.Fatal(err)
			}
			bot.take(resp)
			if got := bot.reads(room, msg); got != "keep this" {
				t.Errorf("reads %q", got)
			}
		})
	}
}

// A user's devices do not count as known before the identity that signs them is stored: a crash or a full disk in between
// would make the bot distrust them, so that they could not read what it says.
func TestDevicesAreStoredWithTheirIdentity(t *testing.T) {
	for _, table := range []string{"crypto_cross_signing_keys", "crypto_cross_signing_signatures"} {
		t.Run(table, func(t *testing.T) {
			alice, bot := enter(t, "alice"), enter(t, "bot")
			room := alice.room(bot)
			full := fmt.Sprintf("CREATE TRIGGER full BEFORE INSERT ON %s BEGIN SELECT RAISE(ABORT, 'disk full'); END", table)
			if _, err := bot.m.db.Exec(t.Context(), full); err != nil {
				t.Fatal(err)
			}
			if _, _, err := bot.m.Encrypt(t.Context(), room, "m.room.message", text("hello")); err == nil {
				t.Error("no error although keys were not stored")
			}
			bot.restart()
			if _, err := bot.m.db.Exec(t.Context(), "DROP TRIGGER full"); err != nil {
				t.Fatal(err)
			}
			if got := alice.reads(room, bot.say(room, "hello again")); got != "hello again" {
				t.Errorf("alice reads %q", got)
			}
		})
	}
}

// After a crash between storing the keys and the sync token, the restarted program gets
// the same batch again.
func TestBatchComesAgain(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	msg := alice.say(room, "once")
	resp := bot.fetchKeys()
	if err := bot.m.ProcessSync(t.Context(), resp.Sync, false); err != nil {
		t.Fatal(err)
	}
	bot.restart()
	bot.take(resp)
	bot.take(resp)
	if got := bot.reads(room, msg); got != "once" {
		t.Errorf("reads %q", got)
	}
	if got := alice.reads(room, bot.say(room, "fine")); got != "fine" {
		t.Errorf("alice reads %q", got)
	}
}

func TestAllAtOnce(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	rooms := []string{alice.room(bot), alice.room(bot), alice.room(bot)}
	first := map[string]json.RawMessage{}
	for _, room := range rooms {
		event := alice.say(room, "go")
		bot.reads(room, event) // once its key is here
		first[room] = bot.event(room, event)
	}
	var wg sync.WaitGroup
	said := make(chan seen, 100)
	for _, room := range rooms {
		wg.Go(func() {
			for i := range 5 {
				if _, err := decrypted(bot.m, t.Context(), room, first[room]); err != nil {
					t.Error(err)
				}
				kind, content, err := bot.m.Encrypt(t.Context(), room, "m.room.message", text(fmt.Sprint(i)))
				if err != nil || kind != "m.room.encrypted" {
					t.Error(kind, err)
					return
				}
				said <- seen{room, content}
			}
		})
	}
	wg.Go(func() {
		for range 5 {
			bot.sync()
			if err := bot.m.fetchDevices(t.Context(), []id.UserID{bot.cli.UserID}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	close(said)
	for s := range said {
		if got := alice.reads(s.Room, bot.put(s.Room, "m.room.encrypted", s.Raw)); got == "" {
			t.Error("reads nothing")
		}
	}
}

func TestWhatStaysReadable(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	first := alice.say(room, "task")
	content := json.RawMessage(`{"msgtype":"m.text","body":"* done","m.new_content":{"msgtype":"m.text","body":"done"},` +
		`"io.matrix-tui.txn":"K-f1","m.mentions":{"user_ids":["@alice:x"]},` +
		`"m.relates_to":{"rel_type":"m.thread","event_id":"` + first + `","is_falling_back":true,"io.own":{"a":1}}}`)
	event := bot.send(room, "m.room.message", content)
	raw := alice.event(room, event)
	var out struct {
		Content map[string]json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	for key := range out.Content {
		switch key {
		case "algorithm", "ciphertext", "sender_key", "device_id", "session_id", "m.relates_to", "io.matrix-tui.txn":
		default:
			t.Errorf("%s is not encrypted", key)
		}
	}
	if len(out.Content["m.relates_to"]) == 0 || string(out.Content["io.matrix-tui.txn"]) != `"K-f1"` {
		t.Errorf("content: %s", raw)
	}
	plain := alice.plain(room, event)
	var a, b any
	_ = json.Unmarshal(plain.Content, &a)
	_ = json.Unmarshal(content, &b)
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("content %s, want %s", plain.Content, content)
	}
	kind, reaction, err := bot.m.Encrypt(t.Context(), room, "m.reaction", json.RawMessage(`{"m.relates_to":{}}`))
	if err != nil || kind != "m.reaction" || string(reaction) != `{"m.relates_to":{}}` {
		t.Errorf("reaction: %s %s %v", kind, reaction, err)
	}
}
