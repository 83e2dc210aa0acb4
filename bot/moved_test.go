package bot

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
)

func TestAdapted(t *testing.T) {
	for name, c := range map[string]struct {
		content, want string
		status        state.OutStatus
	}{
		"plain":               {`{"body":"x"}`, `{"body":"x"}`, state.Unsent},
		"reply":               {`{"body":"x","m.relates_to":{"m.in_reply_to":{"event_id":"$a"}}}`, `{"body":"x"}`, state.Unsent},
		"thread":              {`{"body":"x","m.relates_to":{"rel_type":"m.thread","event_id":"$a","m.in_reply_to":{"event_id":"$b"}}}`, `{"body":"x"}`, state.Unsent},
		"reply to ours":       {`{"m.relates_to":{"m.in_reply_to":{"event_id":"txn:q"}}}`, `{"m.relates_to":{"m.in_reply_to":{"event_id":"txn:q"}}}`, state.Unsent},
		"edit of ours":        {`{"m.relates_to":{"rel_type":"m.replace","event_id":"txn:n"}}`, `{"m.relates_to":{"rel_type":"m.replace","event_id":"txn:n"}}`, state.Unsent},
		"edit":                {`{"m.relates_to":{"rel_type":"m.replace","event_id":"$a"}}`, `{"m.relates_to":{"rel_type":"m.replace","event_id":"$a"}}`, state.Refused},
		"reaction":            {`{"m.relates_to":{"rel_type":"m.annotation","event_id":"$a","key":"✅"}}`, `{"m.relates_to":{"rel_type":"m.annotation","event_id":"$a","key":"✅"}}`, state.Refused},
		"redaction":           {`{"redacts":"$a"}`, `{"redacts":"$a"}`, state.Refused},
		"redaction of ours":   {`{"redacts":"txn:r"}`, `{"redacts":"txn:r"}`, state.Unsent},
		"nothing that we say": {`[]`, `[]`, state.Unsent},
	} {
		about := ""
		if _, rest, ok := strings.Cut(c.content, `"txn:`); ok {
			about, _, _ = strings.Cut(rest, `"`)
		}
		got := adapted(state.Message{Txn: "t", Content: json.RawMessage(c.content), About: about})
		if diff := cmp.Diff(c.want, string(got.Content)); diff != "" || got.Status != c.status || (got.Error != "") != (c.status == state.Refused) {
			t.Errorf("%s: %d %q %s", name, got.Status, got.Error, diff)
		}
	}
}

// Messages in the new room cannot reply to an event of the old room.
func TestMovedEvent(t *testing.T) {
	row := state.Event{Event: decoded(t, `{"event_id":"$1","type":"m.room.message","sender":"@ann:y","content":{"msgtype":"m.text","body":"paint\nthe shed"}}`)}
	row.Room = "!a:x"
	if row.SentTo() != "!a:x" || row.Moved() || relate(originOf(row), "$1").InReplyTo.EventID != "$1" {
		t.Error("Moved before the move")
	}
	row.Room, row.Home = "!c:x", "!a:x"
	if relate(originOf(row), "$1") != nil || follows(originOf(row)) != nil || relate(originOf(row), state.AboutRef("q")).InReplyTo.EventID != state.AboutRef("q") || relate(originOf(row), "$here").InReplyTo.EventID != "$here" {
		t.Error("a relation to an event in the old room")
	}
	rec, err := taskFrom(row)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Home != "!a:x" || rec.Room != "!c:x" {
		t.Errorf("the task is of %s, in %s", rec.Home, rec.Room)
	}
}

func TestLinkTo(t *testing.T) {
	account, err := matrix.New(matrix.Config{Homeserver: "http://x", User: "@bot:x"})
	if err != nil {
		t.Fatal(err)
	}
	b := &Bot{account: account}
	for room, want := range map[string]string{
		"!a:x": "https://matrix.to/#/%21a:x/$1?via=x&via=y",
		"!a:z": "https://matrix.to/#/%21a:z/$1?via=x&via=y&via=z",
		"!a":   "https://matrix.to/#/%21a/$1?via=x&via=y",
	} {
		if got := (taskRoom{newRoom(b, "")}).Link(room, "$1", "@ann:y"); got != want {
			t.Errorf("%s: %s, want %s", room, got, want)
		}
	}
}
