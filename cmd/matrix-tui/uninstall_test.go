package main

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/state"
)

// What somebody says in a room is no container that the uninstaller removes.
func TestUninstallFindsContainers(t *testing.T) {
	dir := t.TempDir()
	found := func() string {
		t.Helper()
		out, errs, ok := bash(t, `. "$deploy/host/uninstall.sh"; for name in $(containers_in "$file"); do echo "$name"; done`, "file="+filepath.Join(dir, "state.json"))
		if !ok {
			t.Fatal(errs)
		}
		return out
	}
	change := func(do func(*state.Store)) {
		t.Helper()
		journal, store, err := state.Open(t.Context(), dir, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		do(store)
		if err := errors.Join(store.Close(), journal.Close()); err != nil { // which writes the file
			t.Fatal(err)
		}
	}
	change(func(store *state.Store) {
		said := state.Turn{Role: "user", Content: "sandbox-theirs-12345678", Event: "$1"}
		if err := store.Conversations.Append(t.Context(), "!a:x", said); err != nil {
			t.Fatal(err)
		}
	})
	if got := found(); got != "" {
		t.Errorf("without containers: %q", got)
	}
	change(func(store *state.Store) {
		for room, name := range map[string]string{"!a:x": "sandbox-a-11112222", "!b:x": "sandbox-b-33334444"} {
			if err := store.Containers.Set(t.Context(), room, name); err != nil {
				t.Fatal(err)
			}
		}
	})
	if diff := cmp.Diff("sandbox-a-11112222\nsandbox-b-33334444\n", found()); diff != "" {
		t.Error(diff)
	}
}
