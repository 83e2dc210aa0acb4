package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSuccessorOf(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	must(t, s.Conversations.SetSession(ctx, "!a", "session"))
	must(t, s.MoveRoom(ctx, "!a", "!b"))
	must(t, s.MoveRoom(ctx, "!b", "!c"))
	must(t, s.MoveRoom(ctx, "!empty", "!full")) // it has nothing that moves
	s = openStore(t, dir)
	for room, want := range map[string]string{"!a": "!c", "!b": "!c", "!c": "!c", "!empty": "!full", "!never": "!never"} {
		if got := s.SuccessorOf(room); got != want {
			t.Errorf("%s continues in %s, want %s", room, got, want)
		}
	}
	for room, want := range map[string][]string{"!a": nil, "!b": {"!a"}, "!c": {"!b", "!a"}, "!full": {"!empty"}} {
		if diff := cmp.Diff(want, s.Predecessors(room)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", room, diff)
		}
	}
	must(t, s.RemoveRoom(ctx, "!empty"))
	if got := s.SuccessorOf("!empty"); got != "!empty" {
		t.Errorf("a removed room continues in %s", got)
	}
}

// Of upgrades that an older release has followed, only the first room is known. A circle ends.
func TestOddSuccessors(t *testing.T) {
	dir := t.TempDir()
	writeState(t, dir, `{"volumes": {"!c": "!a"}, "successors": {"!c": "!d", "!x": "!y", "!y": "!x"}}`)
	s := openStore(t, dir)
	if diff := cmp.Diff([]string{"!a"}, s.Predecessors("!c")); diff != "" {
		t.Error(diff)
	}
	s.SuccessorOf("!x")
	s.Predecessors("!y")
}
