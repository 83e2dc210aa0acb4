package doctor

import (
	"testing"

	"matrix-tui/cmd/matrix-tui/rooms"
)

// doctor names the rooms that take the most, without what could control a terminal.
func TestSayLeft(t *testing.T) {
	if got := sayLeft(nil); got != "nothing is kept of any" {

		t.Error(got)
	}
	left := []rooms.LeftRoom{{Room: "!a:x", Bytes: 1 << 20}, {Room: "!b:x"}, {Room: "!c\x1b[2J:x", Bytes: 3 << 30}, {Room: "!d:x", Bytes: 5 << 20}}
	const then = ". `matrix-tui rooms` lists them, `matrix-tui rooms -remove-left` removes what is kept of them"
	for n, want := range map[int]string{
		1: "1 use 1 MiB: !a:x (1 MiB)",
		3: "3 use 3.0 GiB: !c:x (3.0 GiB), !a:x (1 MiB), !b:x (0 MiB)",
		4: "4 use 3.0 GiB: !c:x (3.0 GiB), !d:x (5 MiB), !a:x (1 MiB), 1 more",
	} {
		if got := sayLeft(left[:n]); got != want+then {
			t.Errorf("%d rooms: %q, want %q", n, got, want+then)
		}
	}
	unknown := []rooms.LeftRoom{{Room: "!a:x", Bytes: -1}, {Room: "!b:x", Bytes: -1}}
	if got, want := sayLeft(unknown), "2 use an unknown amount: !a:x (an unknown amount), !b:x (an unknown amount)"; got != want+then {
		t.Errorf("%q, want %q", got, want+then)
	}
}
