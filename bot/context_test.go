package bot

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

func TestRelate(t *testing.T) {
	row := state.Event{Event: decoded(t, `{"event_id":"$task","type":"m.room.message","sender":"@a:b","content":{"msgtype":"m.text","body":"x"}}`)}
	plain := originOf(row)
	row.Body.Message.RelatesTo = event.Relation{RelType: "m.thread", EventID: "$root"}
	thread := originOf(row)
	if rel := relate(plain, "$answer"); rel.InReplyTo.EventID != "$answer" || rel.RelType != "" {
		t.Errorf("a plain reply is %+v", rel)
	}
	if rel := relate(thread, "$answer"); rel.InReplyTo.EventID != "$task" || rel.RelType != "m.thread" || rel.EventID != "$root" || rel.IsFallingBack {
		t.Errorf("a reply in a thread is %+v", rel)
	}
	if rel := follows(plain); rel != nil {
		t.Errorf("what follows is %+v", rel)
	}
	if rel := follows(thread); rel.RelType != "m.thread" || rel.EventID != "$root" || !rel.IsFallingBack {
		t.Errorf("what follows in a thread is %+v", rel)
	}
}

func TestDirects(t *testing.T) {
	var d directs
	d.take(map[string][]string{"@ann:x": {"!a", "!b"}})
	if d.user("!a") != "@ann:x" || d.user("!c") != "" {
		t.Errorf("%q, %q", d.user("!a"), d.user("!c"))
	}
	if _, changed := d.with("@ann:x", "!a"); changed {
		t.Error("what is there is added")
	}
	users, changed := d.with("@bob:x", "!c")
	if diff := cmp.Diff(map[string][]string{"@ann:x": {"!a", "!b"}, "@bob:x": {"!c"}}, users); diff != "" || !changed {
		t.Error(diff)
	}
	if d.user("!c") != "" {
		t.Error("a copy changes the original")
	}
}

// Every command has a valid description for clients.
func TestDescriptions(t *testing.T) {
	for _, c := range commands {
		if err := c.description().Validate(); err != nil {
			t.Errorf("!%s: %v", c.name, err)
		}
	}
}
