package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/state/scrub"
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
			_, err := journal.Events.Commit(ctx, token, []Event{
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
		token, err := copied.Events.NextBatch(ctx)
		if err != nil {
			t.Fatal(err)
		}
		last, err := copied.Events.Last(ctx, "!a:x")
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

// A snapshot is taken once an hour, if there is something new, and at the end; two are kept.
func TestTakeSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openJournal(t, path)
	check := func(what string, want ...string) {
		t.Helper()
		var tokens []string
		for _, snapshot := range j.Snapshots.files() {
			if !exists(snapshot) {
				continue
			}
			read, err := ReadJournal(ctx, snapshot)
			must(t, err)
			token, err := read.Events.NextBatch(ctx)
			must(t, errors.Join(err, read.Close()))
			tokens = append(tokens, token)
		}
		if diff := gocmp.Diff(want, tokens); diff != "" {
			t.Error(what, diff)
		}
	}
	old := time.Now().Add(-2 * time.Hour)
	for _, step := range []struct {
		what, token string
		old         bool
		want        []string
	}{
		{"the first", "t1", false, []string{"t1"}},
		{"young", "t2", false, []string{"t1"}},
		{"old", "t3", true, []string{"t3", "t1"}},
		{"nothing new", "t3", true, []string{"t3", "t1"}},
		{"two are kept", "t4", true, []string{"t4", "t3"}},
	} {
		commit(t, j, step.token)
		must(t, j.KeepClock(ctx, Clock{Time: time.Now()}))
		if step.old {
			must(t, os.Chtimes(j.Snapshots.files()[0], old, old))
		}
		if next, err := j.Snapshots.Take(ctx); err != nil || next <= 0 || next > 2*SnapshotEvery {
			t.Errorf("%s: next in %v, %v", step.what, next, err)
		}
		check(step.what, step.want...)
	}
	commit(t, j, "t5")
	j.Snapshots.close()
	check("at the end", "t5", "t4")
}

// Snapshots that have what was forgotten are replaced soon, once, and also by the process after.
func TestSnapshotsForget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openJournal(t, path)
	age := func(by time.Duration) time.Time {
		t.Helper()
		at := time.Now().Add(-by)
		must(t, os.Chtimes(j.Snapshots.files()[0], at, at))
		return at
	}
	take := func() (next time.Duration) {
		t.Helper()
		next, err := j.Snapshots.Take(ctx)
		must(t, err)
		return next
	}
	const word = "correct-horse-battery"
	for _, id := range []string{"$1", "$2"} {
		e := anEvent("!r", id, Done)
		e.Body.Message.Body = word
		commit(t, j, id, e)
		take()
		age(2 * time.Hour)
	}
	age(30 * time.Second)
	for range 3 {
		_, err := j.Removal.Scrub(ctx, "!r", "!r", scrub.Without(word))
		must(t, errors.Join(err, j.Removal.Clear(ctx)))
	}
	<-j.Snapshots.Stale()
	if data, err := os.ReadFile(j.Snapshots.files()[0]); err != nil || !bytes.Contains(data, []byte(word)) {
		t.Fatal("no snapshot has it", err)
	}
	if next := take(); next > time.Minute || !exists(j.Snapshots.files()[1]) {
		t.Errorf("not a minute old: next in %v", next)
	}
	must(t, j.db.Close())
	j = openJournal(t, path)
	age(2 * time.Minute)
	take()
	if data, err := os.ReadFile(j.Snapshots.files()[0]); err != nil || bytes.Contains(data, []byte(word)) || exists(j.Snapshots.files()[1]) {
		t.Errorf("a snapshot still has it: %v", err)
	}
	at := age(2 * time.Hour)
	take()
	if info, err := os.Stat(j.Snapshots.files()[0]); err != nil || !info.ModTime().Equal(at) {
		t.Errorf("replaced without need: %v", err)
	}
}

// Another process leaves the snapshots to the bot.
func TestJoinedTakesNoSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	for range 2 { // the first one creates it
		j, err := JoinJournal(ctx, path)
		must(t, err)
		commit(t, j, "token")
		must(t, j.Close())
		if exists(j.Snapshots.files()[0]) {
			t.Error("it took a snapshot")
		}
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
