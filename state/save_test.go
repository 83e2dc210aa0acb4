package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestStoreMovesCorruptFileAside(t *testing.T) {
	tests := map[string]string{
		"cut in half":       oldFile[:len(oldFile)/2],
		"empty":             "",
		"no object":         `[1, 2]`,
		"something follows": `{} {}`,
		"containers a list": `{"containers": []}`,
		"turn a number":     `{"history": {"!r": [1]}}`,
		"zeros":             strings.Repeat("\x00", 512),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeState(t, dir, text)
			if _, err := ReadStore(dir); err == nil {
				t.Error("a damaged file was read")
			} else {
				wantSentence(t, err, "damaged")
			}
			s := openStore(t, dir)
			if !strings.HasPrefix(s.Corrupt(), filepath.Join(dir, "state.json.corrupt-")) {
				t.Fatalf("moved to %q", s.Corrupt())
			}
			kept, err := os.ReadFile(s.Corrupt())
			must(t, err)
			if string(kept) != text {
				t.Errorf("the moved file says %q", kept)
			}
			must(t, s.Containers.Set(ctx, "!r", "again"))
			must(t, s.Close()) // it writes no more
			again := openStore(t, dir)
			if again.Corrupt() != "" || again.Containers.Of("!r") != "again" {
				t.Error("the store did not start empty")
			}
			must(t, again.Close())
			writeState(t, dir, text) // a second one in the same second gets another name
			if second := openStore(t, dir); second.Corrupt() != "" || second.Containers.Of("!r") != "again" {
				t.Errorf("the journal did not count: %q", second.Corrupt())
			}
			if aside, _ := filepath.Glob(filepath.Join(dir, "state.json.corrupt-*")); len(aside) != 2 {
				t.Errorf("moved to %q", aside)
			}
		})
	}
}

// What could not be saved is in the next write; what changes nothing is not written.
func TestStoreSavesLater(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	_, err := s.journal.db.Exec("ALTER TABLE room RENAME TO elsewhere")
	must(t, err)
	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() {
			if err := s.Containers.Set(ctx, fmt.Sprint("!", i), "box"); err == nil {
				t.Error("a saver got no error")
			}
		})
	}
	group.Wait()
	_, err = s.journal.db.Exec("ALTER TABLE elsewhere RENAME TO room")
	must(t, err)
	must(t, s.Containers.Set(ctx, "!1", "box"))
	if got := len(openStore(t, dir).Containers.All()); got != 10 {
		t.Errorf("%d of 10 containers on disk", got)
	}
	_, err = s.journal.db.Exec("DROP TABLE room")
	must(t, err)
	must(t, s.Containers.Set(ctx, "!1", "box"))
}

// Whoever changes something while another save is under way returns when it is on disk.
func TestStoreSaversAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			room := fmt.Sprint("!", i)
			must(t, s.Containers.Set(ctx, room, "box"))
			if rows, err := s.journal.rooms(ctx, false); err != nil || rows[room].container != "box" {
				t.Errorf("%s is not on disk: %v", room, err)
			}
		})
	}
	group.Wait()
}

func TestStoreHonoursContext(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Containers.Set(gone, "!r", "box"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	must(t, s.Flush(ctx))
	if got := openStore(t, dir).Containers.Of("!r"); got != "box" {
		t.Errorf("the change was not in the next write: %q", got)
	}
}

func TestStoreClearsLeftovers(t *testing.T) {
	dir := t.TempDir()
	leftover, other := filepath.Join(dir, ".state.json123456"), filepath.Join(dir, ".state.json.mine")
	for _, path := range []string{leftover, other} {
		must(t, os.WriteFile(path, []byte("half"), 0o600))
	}
	openStore(t, dir)
	if _, err := os.Stat(leftover); !os.IsNotExist(err) {
		t.Error("the leftover of a killed write is still there")
	}
	if _, err := os.Stat(other); err != nil {
		t.Error("another program's file is gone")
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && e.Name() != filepath.Base(other) {
			t.Errorf("%v", entries)
		}
	}
}
