package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/sandbox"
	"matrix-tui/state"
)

func TestFindLeft(t *testing.T) {
	journal, store, err := state.Open(t.Context(), t.TempDir(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = store.Close(), journal.Close() })
	ctx := t.Context()
	for room, name := range map[string]string{"!joined:x": "sandbox-j", "!left:x": "sandbox-l", "!old:x": "sandbox-o", "!older:x": "sandbox-p"} {
		if err := store.SetContainer(ctx, room, name); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"!old:x": "!new:x", "!older:x": "!newer:x"} { // upgraded
		if err := store.MoveRoom(ctx, from, to); err != nil {
			t.Fatal(err)
		}
	}
	ours := map[string]bool{"!forgotten:x": true, "!old:x": true, "!older:x": true}
	labelled := []string{"!forgotten:x", "!forgotten:x", "!joined:x", "!left:x", "!old:x", "!old:x", "!older:x", "!another-bots:x"}
	got := findLeft([]string{"!joined:x", "!new:x"}, store, labelled, func(room string) bool { return ours[room] })
	want := []leftRoom{
		{Room: "!left:x", Container: "sandbox-l", Volumes: "!left:x"},
		{Room: "!newer:x", Container: sandbox.NameFor("!newer:x"), Volumes: "!older:x"},
		{Room: "!forgotten:x", Container: sandbox.NameFor("!forgotten:x"), Volumes: "!forgotten:x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("left rooms (-want +got):\n%s", diff)
	}

	// Invited to the old room again, it has its history there, but the files belong to the new room.
	if err := store.AppendHistory(ctx, "!old:x", state.Turn{Role: "user", Content: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := store.SetContainer(ctx, "!new:x", "sandbox-n"); err != nil {
		t.Fatal(err)
	}
	got = findLeft([]string{"!joined:x", "!new:x", "!left:x", "!newer:x"}, store, nil, func(string) bool { return false })
	want = []leftRoom{{Room: "!old:x", Container: sandbox.NameFor("!old:x")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("left rooms (-want +got):\n%s", diff)
	}
}

// doctor names the rooms that take the most, without what could control a terminal.
func TestSayLeft(t *testing.T) {
	if got := sayLeft(nil); got != "nothing is kept of any" {
		t.Error(got)
	}
	left := []leftRoom{{Room: "!a:x", Bytes: 1 << 20}, {Room: "!b:x"}, {Room: "!c\x1b[2J:x", Bytes: 3 << 30}, {Room: "!d:x", Bytes: 5 << 20}}
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
	unknown := []leftRoom{{Room: "!a:x", Bytes: -1}, {Room: "!b:x", Bytes: -1}}
	if got, want := sayLeft(unknown), "2 use an unknown amount: !a:x (an unknown amount), !b:x (an unknown amount)"; got != want+then {
		t.Errorf("%q, want %q", got, want+then)
	}
}

func TestAge(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 30 * 24 * time.Hour, "0d": 0, "12h": 12 * time.Hour, "0s": 0} {
		var a age
		if err := a.Set(text); err != nil || time.Duration(a) != want {
			t.Errorf("%s: %v, %v", text, time.Duration(a), err)
		}
	}
	for _, text := range []string{"", "d", "30", "-1d", "-1h", "1.5d", "99999999d"} {
		if err := new(age).Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
