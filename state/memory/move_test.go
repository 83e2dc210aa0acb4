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
	// A room that has a memory of its own keeps it, and so does the old one.
	y, err := Open(ctx, dir, "!old")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := y.Add(ctx, "fact", "another"); err != nil {
		t.Fatal(err)
	}
	_ = y.Close()
	if err := Move(ctx, dir, "!old", "!new"); err != nil || !Exists(dir, "!old") {
		t.Errorf("%v, old exists: %t", err, Exists(dir, "!old"))
	}
}
