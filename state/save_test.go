package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// A conversation is in memory only while the journal does not have it. What else changes about a room leaves it alone,
// and a failed save loses nothing of it.
func TestHistoriesStayInJournal(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	turn := func(n int) Turn {
		return Turn{Role: "user", Content: fmt.Sprint("turn ", n), Event: fmt.Sprint("$", n)}
	}
	holds := func(s *Store, room string, want ...Turn) {
		t.Helper()
		if diff := cmp.Diff(want, historyOf(t, s, room), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", room, diff)
		}
		if s.Conversations.Any(room) != (len(want) > 0) {
			t.Errorf("%s: whether it has a history is wrong", room)
		}
	}
	inMemory := func(s *Store, room string, want bool) {
		t.Helper()
		if got := len(s.get(room).history) > 0; got != want {
			t.Errorf("%s: in memory %v", room, got)
		}
	}
	must(t, s.Conversations.Append(ctx, "!r", turn(1)))
	must(t, s.Conversations.Append(ctx, "!r", turn(1))) // no change
	must(t, s.Containers.Set(ctx, "!r", "box"))
	must(t, s.Conversations.SetSession(ctx, "!r", "session"))
	inMemory(s, "!r", false)
	holds(s, "!r", turn(1))
	must(t, s.Conversations.Append(ctx, "!next", turn(2)))

	_, err := s.journal.db.Exec("CREATE TRIGGER full BEFORE UPDATE ON room BEGIN SELECT RAISE(ABORT, 'full'); END")
	must(t, err)
	for range 2 {
		if s.Conversations.Append(ctx, "!r", turn(3)) == nil {
			t.Fatal("a save succeeded")
		}
		inMemory(s, "!r", true)
		holds(s, "!r", turn(1), turn(3))
	}
	if s.Containers.Set(ctx, "!r", "other") == nil {
		t.Fatal("a save succeeded")
	}
	_, err = s.journal.db.Exec("DROP TRIGGER full")
	must(t, err)
	must(t, s.Conversations.SetSession(ctx, "!other", "session"))
	inMemory(s, "!r", false)
	holds(s, "!r", turn(1), turn(3))

	s = openStore(t, dir)
	inMemory(s, "!r", false)
	holds(s, "!r", turn(1), turn(3))
	must(t, s.MoveRoom(ctx, "!r", "!next"))
	holds(s, "!r")
	holds(s, "!next", turn(1), turn(3), turn(2))
	inMemory(s, "!next", false)
	must(t, s.Conversations.Set(ctx, "!next", nil))
	holds(s, "!next")
	must(t, s.RemoveRoom(ctx, "!r"))
	holds(s, "!r")

	var group sync.WaitGroup
	for i := range MaxTurns {
		group.Go(func() {
			_ = s.Conversations.Append(ctx, "!busy", turn(i))
			if !slices.Contains(historyOf(t, s, "!busy"), turn(i)) {
				t.Errorf("turn %d is missing", i)
			}
		})
	}
	for range 20 { // saves fail meanwhile
		_, err := s.journal.db.Exec("CREATE TRIGGER full BEFORE UPDATE ON room BEGIN SELECT RAISE(ABORT, 'full'); END")
		must(t, err)
		_, err = s.journal.db.Exec("DROP TRIGGER full")
		must(t, err)
	}
	group.Wait()
	must(t, s.Flush(ctx))
	if got := len(historyOf(t, openStore(t, dir), "!busy")); got != MaxTurns {
		t.Errorf("%d turns", got)
	}
}
