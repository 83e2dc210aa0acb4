package bot

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/outbox"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

func TestRelate(t *testing.T) {
	row := state.Event{Event: decoded(t, `{"event_id":"$task","type":"m.room.message","sender":"@a:b","content":{"msgtype":"m.text","body":"x"}}`)}
	plain := outbox.OriginOf(row)
	row.Body.Message.RelatesTo = event.Relation{RelType: "m.thread", EventID: "$root"}
	thread := outbox.OriginOf(row)
	for name, c := range map[string]struct{ got, want state.Message }{
		"a reply":                  {plain.Reply(state.Message{}, "$answer", ""), state.Message{Relation: state.Reply, Target: "$answer"}},
		"a reply to ours":          {plain.Reply(state.Message{}, "", "q"), state.Message{Relation: state.Reply, About: "q"}},
		"a reply in a thread":      {thread.Reply(state.Message{}, "$answer", ""), state.Message{Relation: state.Reply, Target: "$task", Thread: "$root"}},
		"what follows":             {plain.Reply(state.Message{}, "$answer", "").Following(), state.Message{}},
		"what follows in a thread": {thread.Reply(state.Message{}, "$answer", "").Following(), state.Message{Relation: state.Follows, Target: "$task", Thread: "$root"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
