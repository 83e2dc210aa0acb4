package memory

import (
	"context"
	"strings"
	"testing"
)

// locked keeps the index of a room locked until the caller calls the result.
func locked(t *testing.T, dir, room string) (unlock func()) {
	t.Helper()
	db, err := connect(Path(dir, room))
	must(t, err)
	_, err = db.Exec("BEGIN IMMEDIATE")
	must(t, err)
	return func() {
		_, err := db.Exec("ROLLBACK")
		must(t, err)
		must(t, db.Close())
	}
}

// talked fills the index of a room with two messages and a line that comes from the first.
func talked(t *testing.T, dir, room string) {
	t.Helper()
	x, err := Open(t.Context(), dir, room)
	must(t, err)
	_, err = x.Learn(t.Context(), []Document{
		{Source: SourceTranscript, Path: "c", Origin: OriginTask, Entries: []Entry{
			{From: 1, To: 1, Speaker: "ann", Text: "my ferry is called Pelican", Event: "$1"},
			{From: 2, To: 2, Speaker: "ann", Text: "another ferry is called Heron", Event: "$2"},
		}},
		Markdown(SourceMemory, "MEMORY.md", "# Facts\n\n- the Pelican is a ferry\n"),
	}, []Line{{Event: "$1", Path: "MEMORY.md", Section: "Facts", Text: "the Pelican is a ferry"}})
	must(t, err)
	must(t, x.Close())
}

// shown is everything that an index gives out about ferries.
func shown(t *testing.T, x *Index) string {
	t.Helper()
	var all strings.Builder
	hits, err := x.Search(t.Context(), Query{Text: "ferry", Max: 20})
	must(t, err)
	newest, err := x.Newest(t.Context(), 20)
	must(t, err)
	for _, hit := range append(hits, newest...) {
		all.WriteString(hit.Text + "\n")
	}
	entries, err := x.Read(t.Context(), "c", 1, 10)
	must(t, err)
	for _, e := range entries {
		all.WriteString(e.Text + "\n")
	}
	return all.String()
}

// Nobody is shown a message that is to be redacted while another program keeps the index locked.
func TestPostponedIsHidden(t *testing.T) {
	dir := t.TempDir()
	talked(t, dir, den)
	unlock := locked(t, dir, den)
	must(t, Postpone(t.Context(), dir, den, "$1"))
	x, err := Open(t.Context(), dir, den)
	must(t, err)
	if all := shown(t, x); strings.Contains(all, "Pelican") || strings.Count(all, "Heron") != 3 {
		t.Errorf("shown:\n%s", all)
	}
	if f, err := x.Forgotten(t.Context()); err != nil || !f.Event("$1") || f.Event("$2") {
		t.Errorf("forgotten: %v, %v", f, err)
	}
	must(t, x.Close())
	unlock()
	x = openIn(t, dir)
	if all := shown(t, x); strings.Contains(all, "Pelican") || strings.Count(all, "Heron") != 3 {
		t.Errorf("shown afterwards:\n%s", all)
	}
	if exists(Path(dir, den)+PostponedExt) || len(x.hidden.events) > 0 {
		t.Error("it is still to be redacted")
	}
}

// What is still to be redacted when a room is upgraded is redacted in its successor.
func TestPostponedMoves(t *testing.T) {
	for name, prepare := range map[string]func(context.Context, string) error{
		"new successor": func(context.Context, string) error { return nil },
		"successor with a memory": func(ctx context.Context, dir string) error {
			x, err := Open(ctx, dir, "!next:x")
			if err != nil {
				return err
			}
			return x.Close()
		},
		"lost index": func(ctx context.Context, dir string) error { return removeDatabase(Path(dir, den)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			talked(t, dir, den)
			must(t, prepare(t.Context(), dir))
			must(t, Postpone(t.Context(), dir, den, "$1"))
			if name == "new successor" {
				unlock := locked(t, dir, den)
				defer unlock()
			}
			for range 2 {
				must(t, Move(t.Context(), dir, den, "!next:x"))
			}
			if exists(Path(dir, den) + PostponedExt) {
				t.Error("the list of the old room is still there")
			}
			gone := "Pelican"
			if name == "lost index" {
				talked(t, dir, "!next:x")
				gone = "called Pelican" // nothing says any more where the line comes from
			}
			x, err := Open(t.Context(), dir, "!next:x")
			must(t, err)
			defer x.Close()
			if all := shown(t, x); strings.Contains(all, gone) || !strings.Contains(all, "Heron") {
				t.Errorf("shown:\n%s", all)
			}
			if f, err := x.Forgotten(t.Context()); err != nil || !f.Event("$1") {
				t.Errorf("forgotten: %v, %v", f, err)
			}
		})
	}
}
