package memory

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"matrix-tui/agent/agenttest"
)

const scripted = "scripted"

// thesaurus is a scripted model that knows words that mean the same.
func thesaurus(t testing.TB) *agenttest.Embeddings {
	t.Helper()
	data, err := os.ReadFile("testdata/thesaurus.txt")
	must(t, err)
	return &agenttest.Embeddings{Same: strings.Split(string(data), "\n")}
}

func valuesOf(model *agenttest.Embeddings, text string) (values []float32) {
	for _, v := range model.Vector(text, Dimensions) {
		values = append(values, float32(v))
	}
	return values
}

func vectorOf(model *agenttest.Embeddings, text string) Vector {
	return Vector{scripted, valuesOf(model, text)}
}

// embedAll embeds what has no vector, and returns the texts.
func embedAll(t testing.TB, x *Index, model *agenttest.Embeddings) (all []string) {
	t.Helper()
	for {
		some, err := x.Unembedded(t.Context(), scripted, 50)
		must(t, err)
		if len(some) == 0 {
			return all
		}
		var vectors [][]float32
		for _, one := range some {
			vectors = append(vectors, valuesOf(model, one.Text))
			all = append(all, one.Text)
		}
		must(t, x.Embed(t.Context(), scripted, some, vectors))
	}
}

// vectors counts the vectors, the chunks that have one, and the sketches.
func vectors(t testing.TB, x *Index) (vectors, chunks, sketches int) {
	t.Helper()
	must(t, x.db.QueryRow(`SELECT (SELECT count(*) FROM vector), (SELECT count(*) FROM chunk JOIN vector USING (room, hash)),
		(SELECT ifnull(sum(length(signs)), 0) FROM sketch)`).Scan(&vectors, &chunks, &sketches))
	return vectors, chunks, sketches / sketchRow
}

func wantVectors(t testing.TB, x *Index, want, chunks int) {
	t.Helper()
	if v, c, s := vectors(t, x); v != want || c != chunks || s != want {
		t.Errorf("%d vectors for %d chunks with %d sketches, want %d for %d", v, c, s, want, chunks)
	}
}

func TestParaphrase(t *testing.T) {
	x := openIn(t, t.TempDir())
	model := &agenttest.Embeddings{Same: []string{"automobile car vehicle", "colour red paint"}}
	put(t, x, SourceNote, "MEMORY.md", "## A\n\n- Ann's car is red.\n\n## B\n\n- The printer is on floor two.\n\n## C\n\n- Bread is baked on Mondays.\n")
	const question = "Which colour has her automobile?"
	embedAll(t, x, model)
	hits, err := x.Search(t.Context(), Query{Text: question})
	if must(t, err); len(hits) > 0 {
		t.Errorf("words alone find %v", hits)
	}
	hits, err = x.Search(t.Context(), Query{Text: question, Vector: vectorOf(model, question)})
	if must(t, err); len(hits) == 0 || !strings.Contains(hits[0].Text, "car is red") {
		t.Errorf("vectors find %v", hits)
	}
	// What is new has no vector yet, and is found by its words.
	put(t, x, SourceLog, "memory/2026-01-01.md", "- The automobile is in the garage.\n")
	hits, err = x.Search(t.Context(), Query{Text: "automobile garage", Vector: vectorOf(model, "automobile garage")})
	if must(t, err); len(hits) == 0 || !strings.Contains(hits[0].Text, "garage") {
		t.Errorf("a new entry is not first: %v", hits)
	}
	// A vector of another model, or of another length, does not count.
	for _, v := range []Vector{{"other", valuesOf(model, question)}, {scripted, valuesOf(model, question)[:20]}, {scripted, make([]float32, Dimensions)}} {
		if hits, err := x.Search(t.Context(), Query{Text: "nothing like it", Vector: v}); err != nil || len(hits) > 0 {
			t.Errorf("vector of %s with %d dimensions: %v, %v", v.Model, len(v.Values), hits, err)
		}
	}
	hits, err = x.Search(t.Context(), Query{Text: question, Vector: vectorOf(model, question), Sources: []Source{SourceAnswer}})
	if must(t, err); len(hits) > 0 {
		t.Errorf("other sources are found: %v", hits)
	}
}

func TestVectorsAreChecked(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, SourceNote, "MEMORY.md", "- one about ferrets\n")
	some, err := x.Unembedded(t.Context(), scripted, 9)
	must(t, err)
	for _, wrong := range [][][]float32{nil, {nil}, {make([]float32, Dimensions)}, {make([]float32, 3072)}} {
		if x.Embed(t.Context(), scripted, some, wrong) == nil {
			t.Errorf("vectors were stored: %v", wrong)
		}
	}
	must(t, x.Embed(t.Context(), "other", some, [][]float32{valuesOf(nil, "x")})) // the model was changed meanwhile
	wantVectors(t, x, 0, 0)
}

// The nearest sketches include the nearest vectors.
func TestSketches(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	random := func(near []float32, share float64) []float32 {
		out := make([]float32, Dimensions)
		for i := range out {
			out[i] = float32(r.NormFloat64())
			if near != nil {
				out[i] = float32(share)*near[i] + float32(1-share)*out[i]
			}
		}
		return out
	}
	wanted := random(nil, 0)
	query := quantize(wanted)
	farther := 0
	for range 1000 {
		near, far := quantize(random(wanted, 0.5)), quantize(random(nil, 0))
		a, b := sketchOf(query).distance(sketchOf(near).append(nil)), sketchOf(query).distance(sketchOf(far).append(nil))
		if a >= b {
			farther++
		}
		if cosine(query, near) <= cosine(query, far) {
			t.Error("a similar vector is not nearer than a random one")
		}
	}
	if farther > 0 {
		t.Errorf("%d of 1000 sketches of similar vectors are farther away than those of random ones", farther)
	}
}

func TestNearestSketches(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	random := func() (s sketch) {
		for i := range s {
			s[i] = r.Uint64()
		}
		return s
	}
	for range 200 {
		most, wanted := 1+r.IntN(20), random()
		var signs []byte
		var all []int
		for id := range r.IntN(100) {
			one := random()
			signs = one.append(append(signs, bytes.Repeat([]byte{byte(id)}, hashBytes)...))
			all = append(all, wanted.distance(one.append(nil)))
		}
		hashes, _ := wanted.nearest(signs, most)
		sorted := slices.Clone(all)
		slices.Sort(sorted)
		for rank, d := range sorted[:min(most, len(sorted))] {
			if !slices.ContainsFunc(hashes, func(hash []byte) bool { return all[hash[0]] == d }) {
				t.Errorf("of %v, the %d nearest are %v: number %d is missing", all, most, hashes, rank)
			}
		}
	}
}
