package state

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
)

// A copy is a consistent moment of a journal that is being written.
func TestSnapshotWhileWritten(t *testing.T) {
	dir := t.TempDir()
	ctx := t.Context()
	journal, err := OpenJournal(ctx, filepath.Join(dir, "journal.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	stop, done, begun := make(chan struct{}), make(chan error, 1), make(chan struct{})
	go func() {
		for i := 0; ; i++ {
			token := fmt.Sprintf("s%d", i)
			// two events per batch: a copy has both or neither
			_, err := journal.Commit(ctx, token, []Event{
				anEvent("!a:x", token+"-1", Pending), anEvent("!a:x", token+"-2", Pending),
			})
			if i == 0 {
				close(begun)
			}
			select {
			case <-stop:
				done <- err
				return
			default:
			}
		}
	}()
	<-begun
	var rows int
	for i := range 5 {
		into := filepath.Join(dir, fmt.Sprintf("copy%d.db", i))
		if err := Snapshot(ctx, filepath.Join(dir, "journal.db"), into); err != nil {
			t.Fatal(err)
		}
		copied, err := OpenJournal(ctx, into, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		token, err := copied.NextBatch(ctx)
		if err != nil {
			t.Fatal(err)
		}
		last, err := copied.LastEvent(ctx, "!a:x")
		if err != nil || last != token+"-2" {
			t.Errorf("copy %d ends with token %s and event %s: %v", i, token, last, err)
		}
		if err := copied.db.QueryRow("SELECT count(*) FROM event").Scan(&rows); err != nil || rows%2 != 0 {
			t.Errorf("copy %d has %d events: %v", i, rows, err)
		}
		if err := copied.Close(); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(into); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("copy has mode %v: %v", info.Mode(), err)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	// A journal that is not open leaves no other files behind.
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Snapshot(ctx, filepath.Join(dir, "journal.db"), filepath.Join(dir, "last.db")); err != nil {
		t.Fatal(err)
	}
	if err := CheckDatabase(ctx, filepath.Join(dir, "last.db")); err != nil {
		t.Error(err)
	}
}

func TestSnapshotOfWhatIsNone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	if err := Snapshot(t.Context(), path, filepath.Join(dir, "copy.db")); err == nil {
		t.Error("a missing database was copied")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it was created")
	}
	if err := os.WriteFile(path, []byte("this is not a database, but it is long enough to look like one to code that checks only the header"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Snapshot(t.Context(), path, filepath.Join(dir, "copy.db")); err == nil {
		t.Error("a file that is not a database was copied")
	}
}

func TestInUse(t *testing.T) {
	dir := t.TempDir()
	if InUse(dir) {
		t.Error("a folder without a lock is in use")
	}
	lock, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !InUse(dir) {
		t.Error("a locked folder is not in use")
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if InUse(dir) {
		t.Error("a released folder is in use")
	}
}
