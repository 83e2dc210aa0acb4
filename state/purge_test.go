package state

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/damage"
)

func TestPurge(t *testing.T) {
	j := newJournal(t)
	commit(t, j, "t", anEvent("!a", "$archived", Archived), anEvent("!a", "$done", Done), anEvent("!a", "$pending", Pending))
	task := func(id string) Task { return queueTask(t, j, "!a", id) }
	over := func(id string) { t.Helper(); must(t, j.Tasks.Claim(ctx, task(id))); must(t, j.Tasks.Finish(ctx, id)) }
	over("$over")
	over("$unsent")
	for i := range KeptTasks {
		over(fmt.Sprint("$later", i))
	}
	task("$queued")
	must(t, j.Tasks.Claim(ctx, task("$running")))
	must(t, j.Tasks.Answer(ctx, task("$answered"), []Message{message("of-answered", "!a", "$answered")}))
	must(t, j.Tasks.Wait(ctx, task("$waiting"), []Message{message("question", "!a", "$waiting")}))
	must(t, j.Messages.MarkSent(ctx, "question", "$e0"))
	over("$task")
	commit(t, j, "t", anEvent("!a", "$newest", Archived), anEvent("!b", "$only", Archived))
	must(t, j.Messages.Queue(ctx, message("sent", "!a", "$over"), message("of-task", "!a", "$task"), message("refused", "!a", ""), message("unsent", "!a", "$unsent")))
	must(t, j.Messages.MarkSent(ctx, "of-answered", "$e1"))
	must(t, j.Messages.MarkSent(ctx, "sent", "$e2"))
	must(t, j.Messages.MarkSent(ctx, "of-task", "$e3"))
	must(t, j.Messages.MarkRefused(ctx, "refused", "why"))

	n, err := j.Purge(ctx, time.Now().Add(-time.Hour))
	must(t, err)
	if n != 0 {
		t.Errorf("%d rows younger than the time are gone", n)
	}
	later := time.Now().Add(time.Hour)
	n, err = j.Purge(ctx, later)
	must(t, err)
	if n != 32 { // two messages, the task $over and 4 later ones, 25 events
		t.Errorf("%d rows are gone, want 32", n)
	}
	all, err := j.Events.Known(ctx, "!a", math.MaxInt64, []string{"$archived", "$done", "$pending", "$over", "$queued", "$running", "$answered", "$unsent", "$waiting", "$task", "$newest"})
	must(t, err)
	want := map[string]bool{"$pending": true, "$queued": true, "$running": true, "$answered": true, "$waiting": true, "$newest": true}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	for key, kept := range map[string]bool{"$queued": true, "$running": true, "$answered": true, "$waiting": true, "$task": true, "$unsent": true, "$over": false, "$later3": false, "$later4": true} {
		if _, err := j.Tasks.Get(ctx, key); (err == nil) != kept {
			t.Errorf("%s: %v", key, err)
		}
	}
	if last, err := j.Events.Last(ctx, "!b"); last != "$only" || err != nil {
		t.Errorf("last event of a quiet room: %q, %v", last, err)
	}
	for txn, kept := range map[string]bool{"of-answered": true, "of-task": true, "question": true, "unsent": true, "sent": false, "refused": false} {
		if _, err := j.Messages.Get(ctx, txn); (err == nil) != kept {
			t.Errorf("%s: %v", txn, err)
		}
	}
}

func TestPurgeOfMany(t *testing.T) {
	j := newJournal(t)
	var many []Event
	for i := range 3*purgeStep + 7 {
		many = append(many, anEvent("!a", fmt.Sprint("$", i), Archived))
	}
	commit(t, j, "t", many...)
	n, err := j.Purge(ctx, time.Now().Add(time.Hour))
	must(t, err)
	if want := int64(len(many) - 1); n != want || countRows(t, j, "event") != 1 {
		t.Errorf("%d rows are gone, want %d", n, want)
	}
}

// After a purge the file is smaller.
func TestPurgeShrinksTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openJournal(t, path)
	for i := range 20 {
		var many []Event
		for k := range 100 {
			e := anEvent("!r", fmt.Sprintf("$%d-%d", i, k), Archived)
			e.Body.Message.Body = strings.Repeat("words ", 200)
			many = append(many, e)
		}
		commit(t, j, "t", many...)
	}
	_, err := j.db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	must(t, err)
	before, err := os.Stat(path)
	must(t, err)
	n, err := j.Purge(ctx, time.Now().Add(time.Hour))
	must(t, err)
	if n != 1999 { // the newest stays
		t.Errorf("%d rows removed", n)
	}
	_, err = j.db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	must(t, err)
	after, err := os.Stat(path)
	must(t, err)
	if after.Size() > before.Size()/10 {
		t.Errorf("%d bytes of %d are left", after.Size(), before.Size())
	}
	must(t, damage.Check(ctx, j.db))
}
