package state

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/state/damage"
)

// A journal with random damage opens at the latest when it has met the damage once, with the rows of its snapshot.
func TestRandomPagesOverwritten(t *testing.T) {
	for _, clean := range []bool{true, false} {
		for seed := range uint64(9) {
			t.Run(fmt.Sprintf("clean=%v/%d", clean, seed), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "journal.db")
				before := busyJournal(t, path, clean)
				count := len(busy.files[clean][""]) / 4096
				random := rand.New(rand.NewPCG(seed, 1))
				var bad []int
				for range 1 + random.IntN(6) {
					bad = append(bad, 1+random.IntN(count))
				}
				if seed < 3 {
					bad = []int{int(seed) + 1} // the header and the first roots
				}
				overwrite(t, path, random, bad...)
				j := openJournal(t, path)
				if j.Corrupt() == "" {
					reported := make(chan error, 1)
					j.OnDamage(func(err error) { reported <- err })
					err := use(j)
					if err == nil {
						return // the damage is where nobody looks
					}
					if !damage.Is(err) || !damage.Marked(path) {
						t.Fatalf("the damage leaves no marker: %v", err)
					}
					wantSentence(t, <-reported, "is damaged")
					must(t, j.Close())
					j = openJournal(t, path)
				}
				checkRestored(t, j, before)
			})
		}
	}
}

// checkRestored checks a restored journal against the rows of the snapshot.
func checkRestored(t *testing.T, j *Journal, before map[string]string) {
	t.Helper()
	if j.Corrupt() == "" || damage.Marked(j.path) {
		t.Fatal("the journal was not replaced")
	}
	report, err := j.Snapshots.Restored(ctx)
	must(t, err)
	if report == nil || filepath.Base(j.Corrupt()) != report.From || report.At.IsZero() {
		t.Fatalf("report %+v, moved to %s", report, j.Corrupt())
	}
	after := rowsOf(t, j)
	delete(after, "meta "+restoredKey)
	delete(after, "meta restoring")
	if diff := gocmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	must(t, damage.Check(ctx, j.db))
	must(t, use(j))
	must(t, j.Snapshots.ForgetRestored(ctx))
	if report, err := j.Snapshots.Restored(ctx); report != nil || err != nil {
		t.Errorf("%+v, %v", report, err)
	}
}

// Of two snapshots the newest one that is sound counts. Without one, the journal is new.
func TestSnapshotThatCounts(t *testing.T) {
	write := func(path string, data []byte) { must(t, os.WriteFile(path, data, 0o600)) }
	for name, spoil := range map[string]func(newest string){
		"newest":         func(string) {},
		"older":          func(newest string) { write(newest, []byte("no database")) },
		"cut to nothing": func(newest string) { write(newest, nil) },
		"in the middle": func(newest string) { // where only a check looks
			overwrite(t, newest, rand.New(rand.NewPCG(1, 1)), len(busy.files[true][""])/4096/2)
			if err := CheckDatabase(ctx, newest); !damage.Is(err) {
				t.Fatalf("the check says %v", err)
			}
		},
		"of a newer bot":   func(newest string) { newerJournal(t, newest) },
		"cut while moved":  func(newest string) { must(t, os.Remove(newest)) },
		"none that counts": func(newest string) { write(newest, []byte("none")); must(t, os.Remove(newest+"-old")) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			before := busyJournal(t, path, true)
			write(path+".snapshot-old", busy.files[true][""])
			spoil(path + ".snapshot")
			must(t, damage.Mark(path, errors.New("test")))
			j := openJournal(t, path)
			if name != "none that counts" {
				checkRestored(t, j, before)
				return
			}
			report, err := j.Snapshots.Restored(ctx)
			must(t, err)
			if token, err := j.Events.NextBatch(ctx); report == nil || !report.At.IsZero() || token != "" || err != nil {
				t.Errorf("%+v, token %q, %v", report, token, err)
			}
			must(t, use(j))
		})
	}
}

// A disk that is full, or a file that cannot be read, makes no snapshot useless: the damaged journal stays until another start.
func TestRestoreThatCannotGoOn(t *testing.T) {
	for name, spoil := range map[string]func(snapshot string) (mend func()){
		"no space": func(snapshot string) func() { // except for an empty one
			free := fill(t, filepath.Dir(snapshot))
			ballast := filepath.Join(filepath.Dir(snapshot), "ballast")
			info, err := os.Stat(ballast)
			must(t, errors.Join(err, os.Truncate(ballast, info.Size()-600<<10)))
			return free
		},
		"unreadable": func(snapshot string) func() { // a folder can be opened but not read
			must(t, os.Rename(snapshot, snapshot+"-kept"))
			must(t, os.Mkdir(snapshot, 0o700))
			return func() { must(t, errors.Join(os.Remove(snapshot), os.Rename(snapshot+"-kept", snapshot))) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(smallDisk(t, "8m"), "journal.db")
			before := busyJournal(t, path, true)
			must(t, damage.Mark(path, errors.New("test")))
			mend := spoil(path + ".snapshot")
			if j, err := OpenJournal(ctx, path, zerolog.Nop()); err == nil {
				t.Errorf("restored something: %v", j.Close())
			}
			mend()
			checkRestored(t, openJournal(t, path), before)
		})
	}
}

func newerJournal(t *testing.T, path string) {
	t.Helper()
	must(t, removeDatabase(path))
	j := assemble(&core{path: path})
	must(t, j.open(ctx))
	_, err := j.db.Exec("PRAGMA user_version = 99")
	must(t, errors.Join(err, j.db.Close()))
}

// A crash between any two steps of a replacement loses nothing.
func TestRestoreContinues(t *testing.T) {
	rename := func(from, to string) { must(t, os.Rename(from, to)) }
	for name, step := range map[string]func(path, aside string){
		"marked":     func(string, string) {},
		"half built": func(path, _ string) { must(t, os.WriteFile(path+".new", []byte("half"), 0o600)) },
		"WAL moved":  func(path, aside string) { rename(path+"-wal", aside+"-wal") },
		"both moved": func(path, aside string) { rename(path+"-wal", aside+"-wal"); rename(path, aside) },
		"both moved, not marked": func(path, aside string) {
			must(t, os.WriteFile(path+".new", busy.files[true][""], 0o600))
			must(t, damage.MoveAside(path, aside))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			before := busyJournal(t, path, false)
			must(t, damage.Mark(path, errors.New("test")))
			step(path, damage.AsideName(path))
			after := rowsOf(t, openJournal(t, path))
			delete(after, "meta "+restoredKey)
			delete(after, "meta restoring")
			if diff := gocmp.Diff(before, after); diff != "" {
				t.Error(diff)
			}
			for end, want := range busy.files[false] {
				kept, _ := filepath.Glob(path + ".corrupt-*" + end)
				found := false
				for _, one := range kept {
					got, err := os.ReadFile(one)
					must(t, err)
					found = found || bytes.Equal(want, got)
				}
				if !found {
					t.Errorf("the damaged file%s is not among %v", end, kept)
				}
			}
			if left, _ := filepath.Glob(path + ".new*"); len(left) > 0 {
				t.Errorf("leftovers: %v", left)
			}
		})
	}
}

// After an unclean end the whole file is checked, also where nobody looks.
func TestUncleanEndIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	busyJournal(t, path, false)
	random := rand.New(rand.NewPCG(1, 1))
	last := len(busy.files[false][""]) / 4096
	for n := last / 2; n < last/2+20; n++ {
		overwrite(t, path, random, n)
	}
	must(t, os.WriteFile(path+"-wal", bytes.Repeat([]byte("no WAL"), 100), 0o600))
	if j := openJournal(t, path); j.Corrupt() == "" {
		t.Error("the damage was not found")
	}
}

// What state.json knows to be answered is not processed again, and is not context.
func TestDecided(t *testing.T) {
	j := newJournal(t)
	commit(t, j, "t", anEvent("!a", "$1", Pending))
	must(t, j.Snapshots.Decided(ctx, "!a", "$1", "$2", "$3"))
	if fresh := commit(t, j, "", anEvent("!a", "$2", Pending), anEvent("!a", "$4", Pending)); gocmp.Diff([]string{"$4"}, ids(fresh)) != "" {
		t.Errorf("new: %v", ids(fresh))
	}
	if e, err := j.Events.Get(ctx, "!a", "$1"); err != nil || e.Status != Pending {
		t.Errorf("a pending event: %+v, %v", e, err)
	}
	if last, err := j.Events.Last(ctx, "!a"); last != "$4" || err != nil {
		t.Error(last, err)
	}
	if all, err := j.Events.Before(ctx, "!a", 100, 9); err != nil || gocmp.Diff([]string{"$2", "$1", "$4"}, ids(all)) != "" { // $2 has come again
		t.Errorf("context %v, %v", ids(all), err)
	}
	if e, err := j.Events.Get(ctx, "!a", "$2"); err != nil || e.Status != Done || e.Body.Message.Body != "$2" {
		t.Errorf("%+v, %v", e, err)
	}
	must(t, j.Snapshots.Decided(ctx, "!b", "$1")) // nothing is known of this room: what comes is older than the journal
	if last, err := j.Events.Last(ctx, "!b"); last != "" || err != nil {
		t.Error(last, err)
	}
}

// In a journal of which nothing was left, they are kept as long as what arrives now.
func TestDecidedIsKept(t *testing.T) {
	j := newJournal(t)
	must(t, j.Snapshots.Decided(ctx, "!a", "$1"))
	commit(t, j, "", anEvent("!a", "$2", Archived))
	_, err := j.Purge(ctx, time.Now().Add(-time.Hour))
	must(t, err)
	if known, err := j.Events.Known(ctx, "!a", 1<<40, []string{"$1"}); err != nil || !known["$1"] {
		t.Errorf("purged at once: %v, %v", known, err)
	}
}

// Tasks of a snapshot wait until the room has no gap, also after another start.
func TestRestoringEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	busyJournal(t, path, true)
	must(t, damage.Mark(path, errors.New("test")))
	check := func(j *Journal, room string, want bool) {
		t.Helper()
		if got, err := j.Snapshots.Restoring(ctx, room); got != want || err != nil {
			t.Errorf("%s: %v, %v", room, got, err)
		}
	}
	gap := func(j *Journal, room string) {
		t.Helper()
		_, err := j.Events.CommitBatch(ctx, Batch{Next: "first", Gaps: []Gap{{Room: room, Token: "x", Encrypted: EncryptedNever}}, Closes: []string{"!gap"}})
		must(t, err)
	}
	j := openJournal(t, path)
	gap(j, "!room1")
	check(j, "!room1", true)
	must(t, j.db.Close())
	j = openJournal(t, path)
	check(j, "!room1", true)
	check(j, "!room2", false)
	g, err := j.Gaps.Get(ctx, "!room1")
	must(t, err)
	_, _, err = j.Gaps.CommitPage(ctx, g, nil, true)
	must(t, err)
	check(j, "!room1", false)
	commit(t, j, "second")
	gap(j, "!room1") // one of later
	check(j, "!room1", false)
}
