package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPurge(t *testing.T) {
	j := newJournal(t)
	commit(t, j, "t",
		event("!a", "$archived", Archived), event("!a", "$done", Done), event("!a", "$pending", Pending),
		event("!a", "$running", Pending), event("!a", "$answered", Pending), event("!a", "$unsent", Done),
		event("!a", "$waiting", Pending),
		event("!a", "$task", Pending), event("!a", "$newest", Archived), event("!b", "$only", Archived))
	must(t, j.Claim(ctx, "!a", "$running", nil))
	must(t, j.Answer(ctx, "!a", "$answered", nil, []Outbound{message("of-answered", "!a", "$answered")}))
	must(t, j.Wait(ctx, "!a", "$waiting", []byte(`{}`), []Outbound{message("question", "!a", "$waiting")}))
	must(t, j.MarkSent(ctx, "question", "$e0"))
	must(t, j.Claim(ctx, "!a", "$task", []byte(`{}`)))
	must(t, j.Finish(ctx, "!a", "$task"))
	must(t, j.Queue(ctx, message("sent", "!a", "$done"), message("of-task", "!a", "$task"), message("refused", "!a", ""), message("unsent", "!a", "$unsent")))
	must(t, j.MarkSent(ctx, "of-answered", "$e1"))
	must(t, j.MarkSent(ctx, "sent", "$e2"))
	must(t, j.MarkSent(ctx, "of-task", "$e3"))
	must(t, j.MarkRefused(ctx, "refused", "why"))

	n, err := j.Purge(ctx, time.Now().Add(-time.Hour))
	must(t, err)
	if n != 0 {
		t.Errorf("%d rows younger than the time are gone", n)
	}
	later := time.Now().Add(time.Hour)
	n, err = j.Purge(ctx, later)
	must(t, err)
	if n != 4 {
		t.Errorf("%d rows are gone, want 4", n)
	}
	all, err := j.Known(ctx, "!a", []string{"$archived", "$done", "$pending", "$running", "$answered", "$unsent", "$waiting", "$task", "$newest"})
	must(t, err)
	want := map[string]bool{"$pending": true, "$running": true, "$answered": true, "$unsent": true, "$waiting": true, "$task": true, "$newest": true}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	if last, err := j.LastEvent(ctx, "!b"); last != "$only" || err != nil {
		t.Errorf("last event of a quiet room: %q, %v", last, err)
	}
	for txn, kept := range map[string]bool{"of-answered": true, "of-task": true, "question": true, "unsent": true, "sent": false, "refused": false} {
		if _, err := j.Outbound(ctx, txn); (err == nil) != kept {
			t.Errorf("%s: %v", txn, err)
		}
	}
}

func TestPurgeOfMany(t *testing.T) {
	j := newJournal(t)
	var many []Inbound
	for i := range 3*purgeStep + 7 {
		many = append(many, event("!a", fmt.Sprint("$", i), Archived))
	}
	commit(t, j, "t", many...)
	n, err := j.Purge(ctx, time.Now().Add(time.Hour))
	must(t, err)
	if want := int64(len(many) - 1); n != want || countRows(t, j, "inbound") != 1 {
		t.Errorf("%d rows are gone, want %d", n, want)
	}
}
