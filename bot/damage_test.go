package bot

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/state"
)

// After a damaged journal was replaced the owners are told, and what state.json knows to be answered does not
// start again although the journal has lost it.
func TestRestoreIsTold(t *testing.T) {
	d := newDeciding(t, "")
	for _, id := range []string{"$1", "$2", "$3"} {
		d.text(id, "@ann:here", "do "+id, time.Minute)
	}
	b := d.bot
	if err := b.Store.Conversations.Append(t.Context(), d.id, state.Turn{Role: "user", Content: "x", Event: "$gone"}, state.Turn{Role: "assistant", Content: "y", Event: "key-q0"}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Store.Close(), b.Journal.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.StateDir, "journal.db")
	if err := os.Remove(path + ".snapshot"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	journal, store, err := state.Open(t.Context(), b.StateDir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(store.Close(), journal.Close()) }()
	b.Journal, b.Store = journal, store
	for range 2 { // the second time there is nothing to tell
		if err := b.tellRestored(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	known, err := journal.Events.Known(t.Context(), d.id, math.MaxInt64, []string{"$gone", "$1", "key-q0"})
	if err != nil || !known["$gone"] || known["$1"] || known["key-q0"] {
		t.Errorf("known: %v, %v", known, err)
	}
	data, err := os.ReadFile(filepath.Join(b.StateDir, "alerts.json"))
	if err != nil || strings.Count(string(data), "My journal was damaged") != 1 || !strings.Contains(string(data), "journal.db.corrupt-") {
		t.Errorf("alerts.json: %s, %v", data, err)
	}
}
