package rooms

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
		if err := store.Containers.Set(ctx, room, name); err != nil {
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
	if err := store.Conversations.Append(ctx, "!old:x", state.Turn{Role: "user", Content: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := store.Containers.Set(ctx, "!new:x", "sandbox-n"); err != nil {
		t.Fatal(err)
	}
	got = findLeft([]string{"!joined:x", "!new:x", "!left:x", "!newer:x"}, store, nil, func(string) bool { return false })
	want = []leftRoom{{Room: "!old:x", Container: sandbox.NameFor("!old:x")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("left rooms (-want +got):\n%s", diff)
	}
}

func TestAge(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 30 * 24 * time.Hour, "0d": 0, "12h": 12 * time.Hour, "0s": 0} {
		if got, err := parseAge(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "30", "-1d", "-1h", "1.5d", "99999999d"} {
		if _, err := parseAge(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
