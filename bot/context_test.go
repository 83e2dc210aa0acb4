package bot

import (
	"testing"

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

// Every command has a valid description for clients.
func TestDescriptions(t *testing.T) {
	for _, c := range commands {
		if err := c.description().Validate(); err != nil {
			t.Errorf("!%s: %v", c.name, err)
		}
	}
}
