package memory

import (
	"os"
	"testing"
)

// What was forgotten stays forgotten in a new index, unless somebody has added it again.
func TestForgottenOutlivesIndex(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	talk := Document{Source: SourceTranscript, Path: "conversation/1", Origin: OriginTask, Entries: []Entry{
		{From: 1, To: 1, Text: "the harbour's code word is pelican", Event: "$1"},
		{From: 2, To: 2, Text: "my cat is called Pixel", Event: "$2"},
		{From: 3, To: 3, Text: "my dog is called Rex", Event: "$3"},
	}}
	open := func() *Index {
		t.Helper()
		x, err := Open(ctx, dir, "!r")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Put(ctx, talk); err != nil {
			t.Fatal(err)
		}
		return x
	}
	found := func(x *Index, words string) int {
		t.Helper()
		hits, err := x.Search(ctx, Query{Text: words})
		if err != nil {
			t.Fatal(err)
		}
		return len(hits)
	}
	x := open()
	if _, err := x.ForgetText(ctx, "code word is pelican"); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Redact(ctx, "$2"); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	path := Path(dir, "!r")
	for name, harm := range map[string]func() error{
		"removed":   func() error { return removeDatabase(path) },
		"emptied":   func() error { return os.Truncate(path, 0) },
		"truncated": func() error { return os.Truncate(path, 5000) },
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		x := open()
		if found(x, "pelican") > 0 || found(x, "Pixel") > 0 || found(x, "Rex") == 0 {
			t.Errorf("%s: pelican %d, Pixel %d, Rex %d", name, found(x, "pelican"), found(x, "Pixel"), found(x, "Rex"))
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}

	// A list that is missing is written again. What is added again is no longer on it.
	if err := os.Remove(sidecar(path)); err != nil {
		t.Fatal(err)
	}
	x = open()
	if _, err := x.Add(ctx, "fact", "the harbour's code word is pelican"); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := removeDatabase(path); err != nil {
		t.Fatal(err)
	}
	x = open()
	if found(x, "pelican") == 0 || found(x, "Pixel") > 0 {
		t.Errorf("pelican %d, Pixel %d", found(x, "pelican"), found(x, "Pixel"))
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir, "!r"); err != nil {
		t.Fatal(err)
	}
	if exists(sidecar(path)) {
		t.Error("the list is still there")
	}
}
