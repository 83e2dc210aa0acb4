package memory

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// wantInFile fails unless the file contains a text, or does not.
func wantInFile(t *testing.T, dir, text string, want bool) {
	t.Helper()
	found := false
	for _, end := range []string{"", "-wal"} {
		data, _ := os.ReadFile(Path(dir) + end)
		found = found || strings.Contains(string(data), text)
	}
	if found != want {
		t.Errorf("the file contains %q: %v, want %v", text, found, want)
	}
}

// Nothing of a text is left in the file when its room was rebuilt without it.
func TestDoubt(t *testing.T) {
	dir := t.TempDir()
	x, other := openIn(t, dir), openRoom(t, dir, "!other:x")
	put(t, other, SourceNote, "note/1", "- The walrus sleeps.\n")
	must(t, other.Rebuild(t.Context(), document(SourceNote, "note/1", "- The walrus sleeps.\n")))
	must(t, x.Rebuild(t.Context(), document(SourceNote, "note/1", "- The wifi password is swordfish.\n"), document(SourceNote, "note/2", "- The printer is on floor two.\n")))
	must(t, x.Put(t.Context(), saidBy("$1", "the wifi password is Swordfish, I think")...))
	wantInFile(t, dir, "swordfish", true)
	if x.Unfilled() {
		t.Error("it must be rebuilt although it was")
	}
	late := openIn(t, dir)
	must(t, x.Doubt(t.Context()))
	if y := openIn(t, dir); !x.Unfilled() || !y.Unfilled() || other.Unfilled() {
		t.Error("the room need not be rebuilt, or another must")
	}
	if err := late.Put(t.Context(), saidBy("$1", "the wifi password is Swordfish")...); !errors.Is(err, ErrDoubt) {
		t.Errorf("what was read before the doubt is stored: %v", err)
	}
	if err := late.Rebuild(t.Context(), saidBy("$1", "the wifi password is Swordfish")...); !errors.Is(err, ErrDoubt) {
		t.Errorf("what was read before the doubt is stored: %v", err)
	}
	must(t, x.Rebuild(t.Context(), document(SourceNote, "note/2", "- The printer is on floor two.\n")))
	wantNothing(t, x, "swordfish")
	wantFirst(t, x, "printer", "floor two")
	wantFirst(t, other, "walrus", "sleeps")
	for _, x := range []*Index{x, other, late} {
		must(t, errors.Join(x.Close(), x.Close()))
	}
	wantInFile(t, dir, "swordfish", false)
	wantInFile(t, dir, "Swordfish", false)
	wantInFile(t, dir, "swordfish"[:6], false) // nor its stem
}

func TestEntriesOfResult(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, SourceNote, "MEMORY.md", "## A\n\n- one about ferrets\n- and its food\n\n## B\n\n- another about otters\n")
	hits, err := x.Search(t.Context(), Query{Text: "ferret"})
	must(t, err)
	entries, err := x.Entries(t.Context(), " "+hits[0].ID)
	if must(t, err); len(entries) != 2 || entries[0].Text != "- one about ferrets" {
		t.Errorf("entries %+v", entries)
	}
	must(t, x.Rebuild(t.Context()))
	for _, id := range []string{hits[0].ID, "", "zz", "' OR 1 --"} {
		if entries, err := x.Entries(t.Context(), id); err != nil || len(entries) > 0 {
			t.Errorf("ID %q: %+v, %v", id, entries, err)
		}
	}
}

// saidBy is a conversation with one message, and what a task has left of it.
func saidBy(event, text string) []Document {
	entry := []Entry{{From: 1, To: 1, Time: day(time.March, 1), Text: text, Event: event}}
	return []Document{
		{Source: SourceTranscript, Path: "conversation/" + event, Entries: entry},
		{Source: SourceExecution, Path: "execution/" + event, Entries: []Entry{{From: 1, To: 1, Time: day(time.March, 1), Text: "Command: " + text, Event: event, Alone: true}}},
	}
}

// A rebuild that was interrupted goes on, and stores nothing again that is there.
func TestRebuildGoesOn(t *testing.T) {
	dir := t.TempDir()
	x := openIn(t, dir)
	var docs []Document
	for i := range 3 * batch {
		docs = append(docs, saidBy(fmt.Sprint("$", i), fmt.Sprintf("topic%d", i))[0])
	}
	must(t, x.Rebuild(t.Context(), docs[:2*batch]...))
	rows := func() (ids []int64) {
		ids, err := column[int64](t.Context(), x.db, "SELECT id FROM document ORDER BY id")
		must(t, err)
		return ids
	}
	before := rows()
	must(t, x.Doubt(t.Context()))
	must(t, x.Rebuild(t.Context(), docs...))
	if after := rows(); len(after) != len(docs) || !slices.Equal(after[:len(before)], before) {
		t.Errorf("%d rows before, %d after", len(before), len(after))
	}
	docs[0].Entries[0].Text = "another"
	must(t, x.Rebuild(t.Context(), docs[:1]...))
	wantNothing(t, x, "topic0")
	wantFirst(t, x, "another", "another")
}
