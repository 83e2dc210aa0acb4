package state

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"matrix-tui/state/pages"
)

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
