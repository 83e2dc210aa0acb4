package state

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRemoveRoom(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	for _, room := range []string{"!gone:x", "!kept:x"} {
		must(t, s.Containers.Set(ctx, room, "sandbox-"+room[1:5]))
		must(t, s.Conversations.SetSession(ctx, room, "session"))
		must(t, s.Conversations.Append(ctx, room, Turn{Role: "user", Content: "hello", Event: "$" + room}))
	}
	must(t, s.Packages.Add(ctx, "!gone:x", []string{"cowsay"}))
	must(t, s.MoveRoom(ctx, "!gone:x", "!next:x")) // which gets its volumes
	if diff := cmp.Diff(map[string]string{"!next:x": "!gone:x"}, s.Volumes()); diff != "" {
		t.Error(diff)
	}
	must(t, s.RemoveRoom(ctx, "!next:x"))
	must(t, s.RemoveRoom(ctx, "!next:x"))
	s = openStore(t, dir)
	if diff := cmp.Diff([]string{"!kept:x"}, s.Rooms()); diff != "" || len(s.Volumes()) != 0 {
		t.Errorf("rooms after the removal (-want +got):\n%s\nvolumes %v", diff, s.Volumes())
	}
	if got := slices.Concat(s.Packages.Of("!gone:x"), s.Packages.Of("!next:x")); len(got) != 0 {
		t.Errorf("packages left: %v", got)
	}
	if len(historyOf(t, s, "!kept:x")) != 1 || s.Conversations.Session("!kept:x") == "" {
		t.Error("the other room has lost something")
	}
}
