package memory

import (
	"os"
	"testing"
)

// A crash before the old index is removed leaves two; the next try removes it, and nothing that was never copied.
func TestMoveAfterCrash(t *testing.T) {
	dir := t.TempDir()
	old := Path(dir, den)
	filled(t, dir)
	data, err := os.ReadFile(old)
	must(t, err)
	must(t, Move(t.Context(), dir, den, "!next:x"))
	must(t, os.WriteFile(old, data, 0o600))
	must(t, Move(t.Context(), dir, "!other:x", "!next:x"))
	if !Exists(dir, den) {
		t.Error("the index of another room is gone")
	}
	must(t, Move(t.Context(), dir, den, "!next:x"))
	if Exists(dir, den) || !Exists(dir, "!next:x") {
		t.Error("the old index is still there, or the new one is gone")
	}
}

func TestMove(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	if err := Move(ctx, dir, "!old", "!new"); err != nil {
		t.Errorf("a room without memory: %v", err)
	}
	x, err := Open(ctx, dir, "!old")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Add(ctx, "fact", "the port is 5433"); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it may be repeated
		if err := Move(ctx, dir, "!old", "!new"); err != nil {
			t.Fatal(err)
		}
	}
	if Exists(dir, "!old") {
		t.Error("the old room still has a memory")
	}
	x, err = Open(ctx, dir, "!new")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	hits, err := x.Search(ctx, Query{Text: "port"})
	if err != nil || len(hits) != 1 || x.Salvaged() != nil {
		t.Errorf("%d results, %v, salvaged %v", len(hits), err, x.Salvaged())
	}
	// A successor that has learned something already keeps it, and gets the rest.
	y, err := Open(ctx, dir, "!old")
	if err != nil {
		t.Fatal(err)
	}
	talk := Document{Source: SourceTranscript, Path: "conversation/1", Origin: OriginTask, Entries: []Entry{{From: 1, To: 1, Text: "the crane is yellow"}, {From: 2, To: 2, Text: "the ferry is green"}}}
	_, failed := y.Learn(ctx, []Document{talk}, []Line{{Path: "MEMORY.md", Section: "Facts", Text: "the crane is yellow"}})
	must(t, failed)
	for _, note := range []string{"another", "the port is 5433"} {
		_, err := y.Add(ctx, "fact", note)
		must(t, err)
	}
	_, err = y.ForgetText(ctx, "the ferry is green")
	must(t, err)
	must(t, y.Close())
	data, err := os.ReadFile(Path(dir, "!old"))
	must(t, err)
	for range 2 { // the second time after a crash
		must(t, os.WriteFile(Path(dir, "!old"), data, 0o600))
		must(t, Move(ctx, dir, "!old", "!new"))
		if Exists(dir, "!old") {
			t.Error("the old room still has a memory")
		}
	}
	for query, want := range map[string]int{"another": 1, "port": 1, "crane": 1, "ferry": 0} {
		if hits, err := x.Search(ctx, Query{Text: query}); err != nil || len(hits) != want {
			t.Errorf("%s: %d results, want %d, %v", query, len(hits), want, err)
		}
	}
	if f, err := x.Forgotten(ctx); err != nil || !f.Text("the ferry is green") {
		t.Errorf("it may come back, %v", err)
	}
	if lines, err := x.Unsettled(ctx); err != nil || len(lines) != 1 {
		t.Errorf("lines %+v, %v", lines, err)
	}
}

// What the old room has forgotten is forgotten by its successor, too.
func TestMoveForgets(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	talk := Document{Source: SourceTranscript, Path: "conversation/1", Origin: OriginTask, Entries: []Entry{
		{From: 1, To: 1, Text: "the ferry is green", Event: "$1"}, {From: 2, To: 2, Text: "yes", Event: "$2"},
		{From: 3, To: 3, Text: "the crane is yellow", Event: "$3"},
	}}
	learned := []Line{
		{Event: "$1", Path: "MEMORY.md", Text: "the ferry is green"},
		{Event: "$2", Path: "MEMORY.md", Text: "it is so"},
		{Event: "$3", Path: "MEMORY.md", Text: "crane: yellow"},
	}
	for _, room := range []string{"!old", "!new"} {
		x, err := Open(ctx, dir, room)
		must(t, err)
		_, err = x.Learn(ctx, []Document{talk}, learned)
		must(t, err)
		if room == "!old" {
			_, err = x.ForgetText(ctx, "ferry")
			must(t, err)
			_, err = x.Redact(ctx, "$2")
			must(t, err)
		}
		must(t, x.Close())
	}
	must(t, Move(ctx, dir, "!old", "!new"))
	x, err := Open(ctx, dir, "!new")
	must(t, err)
	defer x.Close()
	entries, err := x.Read(ctx, "conversation/1", 1, 9)
	if must(t, err); len(entries) != 1 || entries[0].Text != "the crane is yellow" {
		t.Errorf("entries %+v", entries)
	}
	lines, err := x.Unsettled(ctx)
	if must(t, err); len(lines) != 1 || lines[0].Text != "crane: yellow" {
		t.Errorf("lines %+v", lines)
	}
}

// A crash while an index is removed leaves its WAL to no other database.
func TestRemoveKeepsOrder(t *testing.T) {
	dir := t.TempDir()
	path := Path(dir, den)
	filled(t, dir)
	for _, end := range []string{"-wal", "-shm", PostponedExt} {
		must(t, os.WriteFile(path+end, nil, 0o600))
	}
	must(t, os.WriteFile(sidecar(path), nil, 0o600))
	names, err := filesOf(dir, den)
	must(t, err)
	if len(names) != 5 || names[4] != path {
		t.Errorf("the index is not the last of %q", names)
	}
}
