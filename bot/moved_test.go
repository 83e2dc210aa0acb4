package bot

import (
	"testing"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/outbox"
	"matrix-tui/state"
)

// Messages in the new room cannot reply to an event of the old room.
func TestMovedEvent(t *testing.T) {
	row := state.Event{Event: decoded(t, `{"event_id":"$1","type":"m.room.message","sender":"@ann:y","content":{"msgtype":"m.text","body":"paint\nthe shed"}}`)}
	row.Room = "!a:x"
	var m state.Message
	if row.SentTo() != "!a:x" || row.Moved() || outbox.OriginOf(row).Reply(m, "$1", "").Target != "$1" {
		t.Error("Moved before the move")
	}
	row.Room, row.Home = "!c:x", "!a:x"
	o := outbox.OriginOf(row)
	if o.Reply(m, "$1", "").Relation != "" || o.Reply(m, "", "q").About != "q" || o.Reply(m, "$here", "").Target != "$here" {
		t.Error("a relation to an event in the old room")
	}
}

func TestLinkTo(t *testing.T) {
	account, err := matrix.New(matrix.Config{Homeserver: "http://x", User: "@bot:x"})
	if err != nil {
		t.Fatal(err)
	}
	b := &Bot{account: account}
	for name, want := range map[string]string{
		"!a:x": "https://matrix.to/#/%21a:x/$1?via=x&via=y",
		"!a:z": "https://matrix.to/#/%21a:z/$1?via=x&via=y&via=z",
		"!a":   "https://matrix.to/#/%21a/$1?via=x&via=y",
	} {
		if got := (taskRoom{&room{bot: b}}).Link(name, "$1", "@ann:y"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
