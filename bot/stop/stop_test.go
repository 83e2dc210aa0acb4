package stop

import (
	"testing"

	"matrix-tui/bot/turn"
	"matrix-tui/state"
)

func TestMeant(t *testing.T) {
	task := func(event, asker string, running bool) turn.Open {
		return turn.Open{Task: state.Task{Event: event, Requester: asker}, Running: running}
	}
	const ann, bob, eve = "@ann:x", "@bob:x", "@eve:x"
	for _, c := range []struct {
		name string
		all  []turn.Open
		by   string
		want string
	}{
		{"nothing", nil, ann, ""},
		{"what runs", []turn.Open{task("$1", bob, true)}, ann, "$1"},
		{"own, that runs, before own that waits", []turn.Open{task("$1", ann, true), task("$2", ann, false)}, ann, "$1"},
		{"own that waits before another's that runs", []turn.Open{task("$1", bob, true), task("$2", ann, false)}, ann, "$2"},
		{"what runs before others' that wait", []turn.Open{task("$1", bob, true), task("$2", bob, false)}, ann, "$1"},
		{"own newest that waits", []turn.Open{task("$1", ann, false), task("$2", ann, false), task("$3", bob, false)}, ann, "$2"},
		{"the only one that waits", []turn.Open{task("$1", bob, false)}, ann, "$1"},
		{"none of several others'", []turn.Open{task("$1", bob, false), task("$2", bob, false)}, eve, ""},
	} {
		got := ""
		if one := meant(c.all, c.by); one != nil {
			got = one.Task.Event
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
