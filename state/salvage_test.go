package state

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/state/damage"
	"matrix-tui/state/pages"
)

// busy is a journal with a task in every state, unsent messages and long texts: all rows,
// and its files by the ends of their names, by whether it was closed.
var busy struct {
	once  sync.Once
	rows  map[string]string
	files map[bool]map[string][]byte
}

// busyJournal writes the journal to path, as a clean end or a kill leaves it, and returns
// all rows. It is built once, in hundreds of transactions.
func busyJournal(t *testing.T, path string, clean bool) map[string]string {
	t.Helper()
	busy.once.Do(func() { buildBusy(t) })
	if busy.files == nil {
		t.Fatal("the journal could not be built")
	}
	for end, data := range busy.files[clean] {
		must(t, os.WriteFile(path+end, data, 0o600))
	}
	return busy.rows
}

func buildBusy(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openJournal(t, path)
	random := rand.New(rand.NewPCG(7, 7))
	for i := range 400 {
		e := anEvent(fmt.Sprint("!room", i%8), fmt.Sprint("$e", i), Archived)
		e.Body.Message.Body = strings.Repeat("words ", random.IntN(200))
		if i%40 == 0 {
			e.Body.Message.Body = strings.Repeat("long ", 4000)
		}
		if i%10 == 9 {
			e.Status = Pending
		}
		commit(t, j, fmt.Sprint("token", i), e)
	}
	for i := range 60 {
		room := fmt.Sprint("!room", i%8)
		task := queueTask(t, j, room, fmt.Sprint("$task", i))
		task.Details.Result = strings.Repeat("result ", random.IntN(300))
		out := []Message{message(fmt.Sprint("m", i), room, task.Key)}
		switch i % 5 {
		case 1:
			must(t, j.Claim(ctx, task))
		case 2:
			must(t, j.Wait(ctx, task, out))
		case 3:
			must(t, j.Answer(ctx, task, out))
		case 4:
			must(t, j.Answer(ctx, task, out))
			must(t, j.MarkSent(ctx, out[0].Txn, fmt.Sprint("$sent", i)))
			must(t, j.FinishTask(ctx, task.Key))
		}
	}
	for i := range 20 {
		must(t, j.Spend(ctx, fmt.Sprint("!room", i), Spending{Day: time.Unix(int64(i)*daySeconds, 0), Requests: 1, Input: 5, Output: 7, Extra: int64(i)}))
	}
	must(t, j.Attempt(ctx, "bomb", func() bool { return false }))
	_, err := j.CommitBatch(ctx, Batch{Next: "token", Gaps: []Gap{{Room: "!gap", Token: "before", Encrypted: EncryptedNever}}})
	must(t, err)
	rows := rowsOf(t, j)
	killed := readFiles(t, path, "", "-wal")
	must(t, j.Close())
	busy.rows, busy.files = rows, map[bool]map[string][]byte{false: killed, true: readFiles(t, path, "")}
}

func readFiles(t *testing.T, path string, ends ...string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, end := range ends {
		data, err := os.ReadFile(path + end)
		must(t, err)
		files[end] = data
	}
	return files
}

// rowsOf returns all rows by table and key.
func rowsOf(t *testing.T, j *Journal) map[string]string {
	t.Helper()
	all := map[string]string{}
	keys := map[string]string{"event": "room || ' ' || event", "task": "key", "message": "txn", "meta": "key", "spending": "room || ' ' || day", "attempt": "key"}
	tables, err := queryAll(ctx, j.db, scanText, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'")
	must(t, err)
	for _, table := range tables {
		rows, err := j.db.Query("SELECT " + cmp.Or(keys[table], "rowid") + ", * FROM " + table)
		must(t, err)
		names, err := rows.Columns()
		must(t, err)
		for rows.Next() {
			values := make([]any, len(names))
			for i := range values {
				values[i] = new(any)
			}
			must(t, rows.Scan(values...))
			var line strings.Builder
			for i, v := range values {
				fmt.Fprintf(&line, "%s=%v ", names[i], *v.(*any))
			}
			all[table+" "+fmt.Sprint(*values[0].(*any))] = line.String()
		}
		must(t, rows.Err())
	}
	return all
}

// overwrite fills pages with random bytes.
func overwrite(t *testing.T, path string, random *rand.Rand, numbers ...int) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer file.Close()
	for _, n := range numbers {
		page := make([]byte, 4096)
		for i := range page {
			page[i] = byte(random.Uint32())
		}
		_, err := file.WriteAt(page, int64(n-1)*4096)
		must(t, err)
	}
}

// use reads and writes as a running bot does, until an error.
func use(j *Journal) error {
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	_, err := j.NextBatch(ctx)
	note(err)
	rooms, err := j.UnfinishedRooms(ctx)
	note(err)
	_, err = j.UnsentRooms(ctx)
	note(err)
	_, err = j.Waiting(ctx)
	note(err)
	for i := range 8 {
		if room := fmt.Sprint("!room", i); !slices.Contains(rooms, room) {
			rooms = append(rooms, room)
		}
	}
	for _, room := range rooms {
		events, err := j.Pending(ctx, room, 0, MaxBatch)
		note(err)
		if len(events) > 0 {
			note(j.Finish(ctx, room, events[0].ID))
		}
		_, err = j.Before(ctx, room, 1<<40, MaxBatch)
		note(err)
		_, err = j.Unsent(ctx, room)
		note(err)
		for _, state := range []TaskState{TaskQueued, TaskRunning, TaskAnswered} {
			_, err = j.Tasks(ctx, room, state)
			note(err)
		}
		_, err = j.Commit(ctx, "next", []Event{anEvent(room, "$new", Archived)})
		note(err)
	}
	return errors.Join(errs...)
}

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

// No row fits two tables, so that a salvaged row never lands in the wrong one.
func TestTablesAreTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	before := busyJournal(t, path, true)
	found := map[string]int{}
	j := openJournal(t, path)
	tx, err := j.db.Begin()
	must(t, err)
	defer func() { must(t, tx.Rollback()) }()
	tables, err := shapes(ctx, tx)
	must(t, err)
	file, err := pages.Open(path)
	must(t, err)
	defer file.Close()
	lost := file.Rows(func(row pages.Row) {
		var fits []string
		for i := range tables {
			if tables[i].fits(row) {
				fits = append(fits, tables[i].table)
			}
		}
		switch {
		case len(fits) > 1:
			t.Errorf("a row fits %v: %v", fits, row.Values)
		case len(fits) == 1:
			found[fits[0]]++
		case !row.Index && !ofSQLite(row):
			t.Errorf("a row fits no table: %v", row.Values)
		}
	})
	want := map[string]int{}
	for key := range before {
		table, _, _ := strings.Cut(key, " ")
		want[table]++
	}
	if diff := gocmp.Diff(want, found); diff != "" || lost > 0 {
		t.Error(diff, lost)
	}
	for _, one := range tables { // also those that the test has no rows of
		full := pages.Row{ID: 1, Index: one.withoutRowID}
		short := full
		for _, c := range one.columns {
			var value any = int64(1)
			if c.text {
				value = ""
			} else if c.isRowID {
				value = nil
			}
			full.Values = append(full.Values, value)
			if !c.absent {
				short.Values = full.Values
			}
		}
		for _, row := range []pages.Row{full, short} {
			for _, other := range tables {
				if fits := other.fits(row); fits != (other.table == one.table) {
					t.Errorf("a row of %s fits %s: %v; salvage could not tell them apart", one.table, other.table, fits)
				}
			}
		}
	}
}

// A journal of schema 3 is salvaged as such and then migrated.
func TestOlderJournalIsSalvaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := &Journal{path: path, log: zerolog.Nop()}
	must(t, j.create())
	must(t, j.connect(journalParams()))
	tx, err := j.db.Begin()
	must(t, err)
	must(t, upgrade(ctx, tx, 0, 3))
	_, err = tx.Exec(`INSERT INTO inbound (room, event, sender, type, time, raw, status, at) VALUES ('!r', '$1', '@a:x', 'm.room.message', 1, '{"a":1}', 1, 2)`)
	must(t, err)
	must(t, tx.Commit())
	must(t, j.db.Close())
	must(t, damage.Mark(path, errors.New("test")))
	again := openJournal(t, path)
	if e, err := again.Event(ctx, "!r", "$1"); err != nil || string(e.Raw) != `{"a":1}` || e.Status != Pending {
		t.Errorf("%+v, %v", e, err)
	}
}

// Rows that were written before a column existed are saved next to those that have it.
func TestMigratedJournalIsSalvaged(t *testing.T) {
	path := journal2(t)
	j := openJournal(t, path)
	commit(t, j, "t", anEvent("!den:here", "$new", Archived))
	before := rowsOf(t, j)
	must(t, j.Close())
	must(t, damage.Mark(path, errors.New("test")))
	again := openJournal(t, path)
	if report, err := again.Salvage(ctx); err != nil || !report.Whole() {
		t.Errorf("%+v, %v", report, err)
	}
	after := rowsOf(t, again)
	delete(after, "meta "+salvageKey)
	if diff := gocmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

// What state.json knows to be answered is not processed again, and is not context.
func TestDecided(t *testing.T) {
	j := newJournal(t)
	commit(t, j, "t", anEvent("!a", "$1", Pending))
	must(t, j.Decided(ctx, "!a", "$1", "$2", "$3"))
	if fresh := commit(t, j, "", anEvent("!a", "$2", Pending), anEvent("!a", "$4", Pending)); gocmp.Diff([]string{"$4"}, ids(fresh)) != "" {
		t.Errorf("new: %v", ids(fresh))
	}
	if e, err := j.Event(ctx, "!a", "$1"); err != nil || e.Status != Pending {
		t.Errorf("a pending event: %+v, %v", e, err)
	}
	if last, err := j.LastEvent(ctx, "!a"); last != "$4" || err != nil {
		t.Error(last, err)
	}
	if all, err := j.Before(ctx, "!a", 100, 9); err != nil || gocmp.Diff([]string{"$2", "$1", "$4"}, ids(all)) != "" { // $2 has come again
		t.Errorf("context %v, %v", ids(all), err)
	}
	if e, err := j.Event(ctx, "!a", "$2"); err != nil || e.Status != Done || e.Body.Message.Body != "$2" {
		t.Errorf("%+v, %v", e, err)
	}
	must(t, j.Decided(ctx, "!b", "$1")) // nothing is known of this room: what comes is older than the journal
	if last, err := j.LastEvent(ctx, "!b"); last != "" || err != nil {
		t.Error(last, err)
	}
}

// In a journal of which nothing was left, they are kept as long as what arrives now.
func TestDecidedIsKept(t *testing.T) {
	j := newJournal(t)
	must(t, j.Decided(ctx, "!a", "$1"))
	commit(t, j, "", anEvent("!a", "$2", Archived))
	_, err := j.Purge(ctx, time.Now().Add(-time.Hour))
	must(t, err)
	if known, err := j.Known(ctx, "!a", 1<<40, []string{"$1"}); err != nil || !known["$1"] {
		t.Errorf("purged at once: %v, %v", known, err)
	}
}
