package state

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/state/damage"
	"matrix-tui/state/pages"
)

// A journal with random damage opens at the latest when it has met the damage once, keeps
// every row that was on other pages as it was, and nothing is processed twice.
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
					must(t, j.db.Close())
					j = openJournal(t, path)
				}
				checkSalvaged(t, j, before, bad)
			})
		}
	}
}

// checkSalvaged checks a salvaged journal against the rows before the damage.
func checkSalvaged(t *testing.T, j *Journal, before map[string]string, bad []int) {
	t.Helper()
	if j.Corrupt() == "" || damage.Marked(j.path) {
		t.Fatal("the journal was not repaired")
	}
	report, err := j.Salvage(ctx)
	must(t, err)
	if report == nil || filepath.Base(j.Corrupt()) != report.From {
		t.Fatalf("report %+v, moved to %s", report, j.Corrupt())
	}
	after := rowsOf(t, j)
	lost := 0
	for key, row := range before {
		if now := after[key]; now == "" {
			lost++
		} else if now != row && !strings.Contains(now, "io.matrix-tui.lost") && key != "meta next_batch" && !used(row, now) {
			t.Errorf("row changed:\n%s\n%s", row, now)
		}
	}
	if limit := 45 * len(bad); lost > limit {
		t.Errorf("%d of %d rows lost with pages %v, report %+v", lost, len(before), bad, report)
	}
	if lost > 0 && report.Whole() {
		t.Errorf("%d rows lost, and the report says none: %+v", lost, report)
	}
	for key, row := range after {
		if before[key] == "" && !strings.Contains(row, "io.matrix-tui.lost") && !strings.Contains(row, "$new") && key != "meta "+salvageKey {
			t.Errorf("row out of nowhere: %s", row)
		}
	}
	// Everything arrives again: no task that is known starts over.
	var known []Event
	for key := range after {
		id, isTask := strings.CutPrefix(key, "task ")
		if !isTask {
			continue
		}
		task, err := j.Task(ctx, id)
		must(t, err)
		known = append(known, anEvent(task.Room, task.Event, Pending))
	}
	if fresh := commit(t, j, "", known...); len(fresh) > 0 {
		t.Errorf("of %d events with a task these are new: %v", len(known), ids(fresh))
	}
	must(t, damage.Check(ctx, j.db))
	must(t, use(j))
	again, err := j.Salvage(ctx)
	must(t, err)
	if diff := gocmp.Diff(report, again); diff != "" {
		t.Error(diff)
	}
}

// used reports whether a row differs only because use has finished an event.
func used(before, after string) bool {
	return strings.Replace(before, "status=1", "status=4", 1) == after
}

// A marker alone makes the next start rebuild the journal; nothing is lost then.
func TestMarkedJournalIsRebuilt(t *testing.T) {
	for _, clean := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "journal.db")
		before := busyJournal(t, path, clean)
		must(t, damage.Mark(path, errors.New("test")))
		j := openJournal(t, path)
		report, err := j.Salvage(ctx)
		must(t, err)
		if !report.Whole() || !report.Token || report.Tasks != 48 || report.Messages != 24 {
			t.Errorf("clean %v: %+v", clean, report)
		}
		after := rowsOf(t, j)
		delete(after, "meta "+salvageKey)
		if diff := gocmp.Diff(before, after); diff != "" {
			t.Error(diff)
		}
		must(t, j.ForgetSalvage(ctx))
		if report, err := j.Salvage(ctx); report != nil || err != nil {
			t.Errorf("%+v, %v", report, err)
		}
		must(t, j.db.Close())
		if again := openJournal(t, path); again.Corrupt() != "" {
			t.Error("the new journal counts as damaged")
		}
	}
}

// A crash between any two steps of a repair loses nothing.
func TestRepairContinues(t *testing.T) {
	rename := func(from, to string) { must(t, os.Rename(from, to)) }
	steps := map[string]func(path, aside string){
		"marked":                 func(string, string) {},
		"half built":             func(path, _ string) { must(t, os.WriteFile(path+".new.tmp", []byte("half"), 0o600)) },
		"new file complete":      nil,
		"WAL moved":              func(path, aside string) { rename(path+"-wal", aside+"-wal") },
		"both moved":             func(path, aside string) { rename(path+"-wal", aside+"-wal"); rename(path, aside) },
		"both moved, not marked": func(path, aside string) { must(t, damage.MoveAside(path, aside)) },
	}
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			before := busyJournal(t, path, false)
			j := &Journal{path: path, log: zerolog.Nop()}
			must(t, damage.Mark(path, errors.New("test")))
			if name != "marked" && name != "half built" {
				report, err := j.salvage(ctx, j.newPath())
				must(t, err)
				if step != nil {
					step(path, filepath.Join(filepath.Dir(path), report.From))
				}
			} else {
				step(path, "")
			}
			again := openJournal(t, path)
			after := rowsOf(t, again)
			delete(after, "meta "+salvageKey)
			if diff := gocmp.Diff(before, after); diff != "" {
				t.Error(diff)
			}
			for end, want := range busy.files[false] {
				got, err := os.ReadFile(again.Corrupt() + end)
				must(t, err)
				if !bytes.Equal(want, got) {
					t.Errorf("the damaged file%s was changed", end)
				}
			}
			if left, _ := filepath.Glob(path + ".*"); len(left) != 2 {
				t.Errorf("leftovers: %v", left)
			}
		})
	}
}

// After an unclean end the whole file is checked, also where nobody looks.
func TestUncleanEndIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	busyJournal(t, path, false)
	file, err := pages.Open(path)
	must(t, err)
	random := rand.New(rand.NewPCG(1, 1))
	last := file.Pages()
	file.Close()
	for n := last / 2; n < last/2+20; n++ {
		overwrite(t, path, random, n)
	}
	must(t, os.WriteFile(path+"-wal", bytes.Repeat([]byte("no WAL"), 100), 0o600))
	if j := openJournal(t, path); j.Corrupt() == "" {
		t.Error("the damage was not found")
	}
}
