package state

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

func TestRemoveRoom(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	for _, room := range []string{"!gone:x", "!kept:x"} {
		must(t, s.Containers.Set(ctx, room, "sandbox-"+room[1:5]))
		must(t, s.Conversations.SetSession(ctx, room, "session"))
		must(t, s.Conversations.Append(ctx, room, Turn{Role: "user", Content: "hello", Event: "$" + room}))
		must(t, s.Executions.Put(ctx, room, json.RawMessage(`{"session_id":"`+room+`","state":"completed"}`)))
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
	if len(s.Conversations.History("!kept:x")) != 1 || s.Conversations.Session("!kept:x") == "" || len(s.Executions.In("!kept:x")) != 1 {
		t.Error("the other room has lost something")
	}
}

func TestRemoveTranscript(t *testing.T) {
	dir := t.TempDir()
	transcripts, err := OpenTranscripts(dir, zerolog.Nop())
	must(t, err)
	must(t, transcripts.Begin("sandbox-a", "$1", "hello"))
	must(t, transcripts.Begin("sandbox-b", "$1", "hello"))
	must(t, os.WriteFile(fileOf(filepath.Join(dir, "transcripts"), "sandbox-a")+".1", nil, 0o600))
	must(t, transcripts.Remove("sandbox-a"))
	must(t, transcripts.Remove("sandbox-a"))
	left, err := os.ReadDir(filepath.Join(dir, "transcripts"))
	must(t, err)
	if len(left) != 1 || left[0].Name() != filepath.Base(fileOf(dir, "sandbox-b")) {
		t.Errorf("left: %v", left)
	}
}
