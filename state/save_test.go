package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
			must(t, s.writeNow())
			if again := openStore(t, dir); again.Corrupt() != "" || again.Containers.Of("!r") != "again" {
				t.Error("the store did not start empty")
			}
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

// tenSavers changes ten rooms during a write, and returns each saver's result once that write has ended.
func tenSavers(s *Store) []error {
	<-s.writing // as a write in progress
	begun := s.dirty
	errs := make([]error, 10)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = s.Containers.Set(ctx, fmt.Sprint("!", i), "box") })
	}
	for all := false; !all; runtime.Gosched() {
		s.mu.Lock()
		all = s.dirty == begun+10
		s.mu.Unlock()
	}
	s.writing <- struct{}{}
	group.Wait()
	return errs
}

// Writers that arrive during a write share the next one.
func TestStoreSaversShareWrites(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	begun := s.attempts
	for _, err := range tenSavers(s) {
		must(t, err)
	}
	if s.attempts != begun+1 {
		t.Errorf("ten savers made %d writes", s.attempts-begun)
	}
	if got := len(openStore(t, dir).Containers.All()); got != 10 {
		t.Errorf("%d of 10 containers on disk", got)
	}
	must(t, s.Containers.Set(ctx, "!1", "box"))
	if s.attempts != begun+1 {
		t.Error("a change that changes nothing was written")
	}
}

// They also share a failure; a later call tries again.
func TestStoreSaversShareErrors(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	_, err := s.journal.db.Exec("ALTER TABLE room RENAME TO elsewhere")
	must(t, err)
	begun := s.attempts
	for _, err := range tenSavers(s) {
		if err == nil {
			t.Error("a saver got no error")
		}
	}
	if s.attempts != begun+1 {
		t.Errorf("ten savers made %d attempts", s.attempts-begun)
	}
	_, err = s.journal.db.Exec("ALTER TABLE elsewhere RENAME TO room")
	must(t, err)
	must(t, s.Containers.Set(ctx, "!1", "box"))
	if got := len(openStore(t, dir).Containers.All()); got != 10 {
		t.Errorf("%d of 10 containers on disk", got)
	}
}

func TestStoreHonoursContext(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	<-s.writing
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Containers.Set(gone, "!r", "box"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	s.writing <- struct{}{}
	must(t, s.Flush(ctx))
	if got := openStore(t, dir).Containers.Of("!r"); got != "box" {
		t.Errorf("the change was not in the next write: %q", got)
	}
}

// A caller that has gone does not fail the save that it has begun for others.
func TestStoreSavesForOthers(t *testing.T) {
	s := openStore(t, t.TempDir())
	gone, cancel := context.WithCancel(ctx)
	cancel()
	begun := s.attempts
	for i := 0; s.attempts == begun; i++ { // whether it saves or gives up is random
		if err := s.Containers.Set(gone, "!r", fmt.Sprint("box", i)); err != nil && s.attempts > begun {
			t.Errorf("the save ended: %v", err)
		}
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
