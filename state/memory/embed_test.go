package memory

import (
	"strings"
	"testing"

	"matrix-tui/agent/agenttest"
)

func TestTextsAreEmbeddedOnce(t *testing.T) {
	x := openIn(t, t.TempDir())
	model := &agenttest.Embeddings{}
	put(t, x, SourceMemory, "MEMORY.md", "## A\n\n- one about ferrets\n\n## B\n\n- another about otters\n")
	if all := embedAll(t, x, model); len(all) != 2 {
		t.Errorf("embedded %q", all)
	}
	put(t, x, SourceMemory, "MEMORY.md", "## A\n\n- one about ferrets\n\n## B\n\n- a third about owls\n")
	if all := embedAll(t, x, model); len(all) != 1 || !strings.Contains(all[0], "owls") {
		t.Errorf("embedded %q after a change", all)
	}
	// The text of before is still there until nothing is left to do.
	put(t, x, SourceMemory, "MEMORY.md", "## A\n\n- one about ferrets\n\n## B\n\n- another about otters\n")
	if all := embedAll(t, x, model); len(all) != 0 {
		t.Errorf("embedded %q again", all)
	}
	wantVectors(t, x, 3, 2)
	must(t, x.DropUnused(t.Context()))
	wantVectors(t, x, 2, 2)
	// Texts that are the same share a vector.
	put(t, x, SourceLog, "memory/2026-01-01.md", "## A\n\n- one about ferrets\n")
	put(t, x, SourceLog, "memory/2026-01-02.md", "## A\n\n- one about ferrets\n")
	if all := embedAll(t, x, model); len(all) != 0 {
		t.Errorf("embedded %q twice", all)
	}
	wantVectors(t, x, 2, 4)
	// With another model, all texts need new vectors.
	some, err := x.Unembedded(t.Context(), "other", 50)
	if must(t, err); len(some) != 2 {
		t.Errorf("another model embeds %d texts, want 2", len(some))
	}
	wantVectors(t, x, 0, 0)
}

// A text of which the model makes no vector is not asked for again, until it changes or the model does.
func TestRefusedTexts(t *testing.T) {
	x := openIn(t, t.TempDir())
	model := &agenttest.Embeddings{}
	unembedded := func(model string, want int) []Unembedded {
		t.Helper()
		some, err := x.Unembedded(t.Context(), model, 50)
		if must(t, err); len(some) != want {
			t.Errorf("%s: %d texts have no vector, want %d", model, len(some), want)
		}
		return some
	}
	const file = "## A\n\n- one about ferrets\n\n## B\n\n- another about otters\n"
	put(t, x, SourceMemory, "MEMORY.md", file)
	some := unembedded("scripted", 2)
	must(t, x.Refuse(t.Context(), "another", some))
	must(t, x.Refuse(t.Context(), "scripted", some[:1]))
	unembedded("scripted", 1)
	embedAll(t, x, model)
	unembedded("scripted", 0)
	must(t, x.DropUnused(t.Context()))
	put(t, x, SourceMemory, "MEMORY.md", strings.ReplaceAll(file, "one about ferrets", "two about otters")+"\n## C\n\n- owls\n")
	must(t, x.Refuse(t.Context(), "scripted", some[:1])) // it has gone
	hits, err := x.Search(t.Context(), Query{Text: "otters", Vector: vectorOf(model, "otters"), Max: 5})
	if must(t, err); len(hits) == 0 {
		t.Error("nothing is found")
	}
	unembedded("other", 3)
}

func TestForgottenTextLosesItsVector(t *testing.T) {
	x := openIn(t, t.TempDir())
	model := &agenttest.Embeddings{}
	put(t, x, SourceMemory, "MEMORY.md", "## A\n\n- The wifi password is swordfish.\n\n## B\n\n- The printer is on floor two.\n")
	_, err := x.Put(t.Context(), Document{Source: SourceTranscript, Path: "c", Entries: []Entry{{From: 1, To: 1, Speaker: "ann", Text: "my birthday is in May", Event: "$e"}}})
	must(t, err)
	embedAll(t, x, model)
	wantVectors(t, x, 3, 3)
	_, err = x.Forget(t.Context(), "swordfish")
	must(t, err)
	wantVectors(t, x, 2, 2)
	_, err = x.Put(t.Context(), Document{Source: SourceTranscript, Path: "c", Entries: []Entry{{From: 1, To: 1, Speaker: "ann", Text: "my birthday is in June", Event: "$e"}}})
	must(t, err)
	must(t, x.DropUnused(t.Context()))
	wantVectors(t, x, 1, 1)
	embedAll(t, x, model)
	_, err = x.RemoveEvent(t.Context(), "$e")
	must(t, err)
	wantVectors(t, x, 1, 1)

	// What is forgotten while its vector is fetched gets none.
	put(t, x, SourceLog, "memory/2026-01-01.md", "- The safe opens with 4711.\n")
	some, err := x.Unembedded(t.Context(), scripted, 9)
	must(t, err)
	_, err = x.Forget(t.Context(), "4711")
	must(t, err)
	put(t, x, SourceLog, "memory/2026-01-01.md", "- Something else.\n") // may get the same number
	must(t, x.Embed(t.Context(), scripted, some, [][]float32{valuesOf(model, some[0].Text)}))
	wantVectors(t, x, 1, 1)
}

func TestOnlyTheNewestChunksHaveVectors(t *testing.T) {
	x := openIn(t, t.TempDir())
	doc := Document{Source: SourceLog, Path: "memory/a.md"}
	for i := range 30 {
		doc.Entries = append(doc.Entries, Entry{From: i + 1, To: i + 1, Text: "entry " + strings.Repeat("x", i+1), Alone: true})
	}
	_, err := x.Put(t.Context(), doc)
	must(t, err)
	put(t, x, SourceLog, "memory/b.md", "- the newest one\n")
	must(t, x.write(t.Context(), "embed", func(w *writer) error {
		for i, want := range []int{20, 0} {
			some, err := w.unembedded(scripted, 50, 20)
			if must(t, err); len(some) != want || i == 0 && !strings.Contains(some[0].Text, "newest") {
				t.Errorf("time %d: %d texts, want the %d newest", i, len(some), want)
			}
			var values [][]byte
			for _, one := range some {
				values = append(values, quantize(valuesOf(nil, one.Text)))
			}
			must(t, w.embed(scripted, some, values))
		}
		some, err := w.unembedded(scripted, 50, 10) // as if ten were newer
		if must(t, err); len(some) != 0 {
			t.Errorf("%d texts are embedded again", len(some))
		}
		return w.dropUnused(10)
	}))
	wantVectors(t, x, 10, 10)
}
