package bot

import (
	"testing"

	"matrix-tui/state"
)

func TestToStop(t *testing.T) {
	task := func(event, asker string, running bool) candidate {
		return candidate{state.Task{Event: event, Requester: asker}, running}
	}
	const ann, bob, eve = "@ann:x", "@bob:x", "@eve:x"
	for _, c := range []struct {
		name string
		all  []candidate
		by   string
		want string
	}{
		{"nothing", nil, ann, ""},
		{"what runs", []candidate{task("$1", bob, true)}, ann, "$1"},
		{"own, that runs, before own that waits", []candidate{task("$1", ann, true), task("$2", ann, false)}, ann, "$1"},
		{"own that waits before another's that runs", []candidate{task("$1", bob, true), task("$2", ann, false)}, ann, "$2"},
		{"what runs before others' that wait", []candidate{task("$1", bob, true), task("$2", bob, false)}, ann, "$1"},
		{"own newest that waits", []candidate{task("$1", ann, false), task("$2", ann, false), task("$3", bob, false)}, ann, "$2"},
		{"the only one that waits", []candidate{task("$1", bob, false)}, ann, "$1"},
		{"none of several others'", []candidate{task("$1", bob, false), task("$2", bob, false)}, eve, ""},
	} {
		got := ""
		if one := toStop(c.all, c.by); one != nil {
			got = one.task.Event
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
