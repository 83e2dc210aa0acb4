package memory

import (
	"strings"
	"testing"

	"matrix-tui/agent/agenttest"
)

func TestTextsAreEmbeddedOnce(t *testing.T) {
	x := openIn(t, t.TempDir())
	model := &agenttest.Embeddings{}
	put(t, x, SourceNote, "MEMORY.md", "## A\n\n- one about ferrets\n\n## B\n\n- another about otters\n")
	if all := embedAll(t, x, model); len(all) != 2 {
		t.Errorf("embedded %q", all)
	}
	put(t, x, SourceNote, "MEMORY.md", "## A\n\n- one about ferrets\n\n## B\n\n- a third about owls\n")
	if all := embedAll(t, x, model); len(all) != 1 || !strings.Contains(all[0], "owls") {
		t.Errorf("embedded %q after a change", all)
	}
	wantVectors(t, x, 2, 2)
	// A text that comes back needs no new vector.
	must(t, x.Doubt(t.Context()))
	wantVectors(t, x, 2, 2)
	must(t, x.Rebuild(t.Context(), document(SourceNote, "MEMORY.md", "## A\n\n- one about ferrets\n\n## B\n\n- a third about owls\n")))
	if all := embedAll(t, x, model); len(all) != 0 {
		t.Errorf("embedded %q again", all)
	}
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
	put(t, x, SourceNote, "MEMORY.md", file)
	some := unembedded("scripted", 2)
	must(t, x.Refuse(t.Context(), "another", some))
	must(t, x.Refuse(t.Context(), "scripted", some[:1]))
	unembedded("scripted", 1)
	embedAll(t, x, model)
	unembedded("scripted", 0)
	put(t, x, SourceNote, "MEMORY.md", strings.ReplaceAll(file, "one about ferrets", "two about otters")+"\n## C\n\n- owls\n")
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
	put(t, x, SourceNote, "a", "- The wifi password is swordfish.\n")
	put(t, x, SourceNote, "b", "- The printer is on floor two.\n")
	embedAll(t, x, model)
	wantVectors(t, x, 2, 2)
	printer := document(SourceNote, "b", "- The printer is on floor two.\n")
	must(t, x.Doubt(t.Context()))
	must(t, x.Rebuild(t.Context(), printer))
	wantVectors(t, x, 1, 1)

	// What is forgotten while its vector is fetched gets none.
	put(t, x, SourceLog, "log/1", "- The safe opens with 4711.\n")
	some, err := x.Unembedded(t.Context(), scripted, 9)
	must(t, err)
	must(t, x.Doubt(t.Context()))
	must(t, x.Embed(t.Context(), scripted, some, [][]float32{valuesOf(model, some[0].Text)}))
	must(t, x.Rebuild(t.Context(), printer, document(SourceLog, "log/1", "- Something else.\n"))) // may get the same number
	wantVectors(t, x, 1, 1)
}

func TestOnlyTheNewestChunksHaveVectors(t *testing.T) {
	x := openIn(t, t.TempDir())
	doc := Document{Source: SourceLog, Path: "memory/a.md"}
	for i := range 30 {
		doc.Entries = append(doc.Entries, Entry{From: i + 1, To: i + 1, Text: "entry " + strings.Repeat("x", i+1), Alone: true})
	}
	must(t, x.Put(t.Context(), doc))
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
