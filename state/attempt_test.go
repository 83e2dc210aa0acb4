package state

import (
	"path/filepath"
	"testing"
	"time"
)

// What fails or is cut short twice is not attempted again, even after a restart. Success starts over, and a purge forgets.
func TestAttempts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openJournal(t, path)
	calls := 0
	try := func(key string, ok bool) {
		t.Helper()
		must(t, j.Events.Attempt(t.Context(), key, func() bool { calls++; return ok }))
	}
	for range 3 {
		try("good", true)
	}
	if calls != 3 {
		t.Errorf("%d calls of what succeeds", calls)
	}
	cut := func() {
		t.Helper()
		defer func() { _ = recover() }()
		must(t, j.Events.Attempt(t.Context(), "bomb", func() bool { calls++; panic("killed") }))
	}
	calls = 0
	cut()
	must(t, j.Close())
	j = openJournal(t, path)
	cut()
	must(t, j.Close())
	j = openJournal(t, path)
	cut()
	try("bomb", true)
	if calls != 2 {
		t.Errorf("%d calls of what was cut short", calls)
	}
	if _, err := j.Purge(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	try("bomb", false)
	if calls != 3 {
		t.Errorf("%d calls after a purge", calls)
	}
}
