package memory

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// vocabularyOf returns words of a language that does not exist; the first are the most frequent (Zipf).
func vocabularyOf(n int) []string {
	syllables := strings.Fields("ka lo mi ter ban sor vel dun pra kes tol nim gar het ush olo ira meb cos fen jup wab zil quo rys tan")
	r := rand.New(rand.NewPCG(1, 2))
	seen, out := map[string]bool{}, []string{}
	for len(out) < n {
		word := ""
		for range 2 + r.IntN(3) {
			word += syllables[r.IntN(len(syllables))]
		}
		if !seen[word] {
			seen[word] = true
			out = append(out, word)
		}
	}
	return out
}

// writerOf returns a function that writes texts of n words.
func writerOf(seed uint64) func(n int) string {
	all := vocabularyOf(30_000)
	r := rand.New(rand.NewPCG(seed, 7))
	zipf := rand.NewZipf(r, 1.07, 4, uint64(len(all)-1))
	return func(n int) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(all[zipf.Uint64()])
		}
		return b.String()
	}
}

// percentiles returns the median and the 95th percentile.
func percentiles(all []time.Duration) (median, p95 time.Duration) {
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*95/100]
}

// cpuTime returns the processor time that this process has used.
func cpuTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// peak returns the most memory that this process has had, in MB.
func peak() int {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		var kb int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			return kb >> 10
		}
	}
	return 0
}

// BenchmarkSearch measures searches over 100,000 chunks: with the bounds of a room (short chunks), and beyond them
// (chunks of 400 tokens, and chunks that all have a vector).
func BenchmarkSearch(b *testing.B) {
	for _, size := range []struct {
		name    string
		words   int
		vectors bool
	}{{"short", 22, false}, {"full", 240, false}, {"vectors", 22, true}} {
		b.Run(size.name, func(b *testing.B) {
			x := fill(b, 100_000, size.words)
			query := Query{}
			if size.vectors {
				query.Vector = fillVectors(b, x)
			}
			ask := writerOf(3)
			var took, used []time.Duration
			for b.Loop() {
				begin, cpu := time.Now(), cpuTime()
				query.Text = "when did " + ask(6)
				_, err := x.Search(b.Context(), query)
				took, used = append(took, time.Since(begin)), append(used, cpuTime()-cpu)
				must(b, err)
			}
			report(b, took)
			_, p95 := percentiles(used) // on a busy machine, the time that the search itself needs
			b.ReportMetric(float64(p95.Microseconds())/1000, "ms-cpu-p95")
			s, err := x.Status(b.Context())
			must(b, err)
			b.ReportMetric(float64(s.Bytes>>20), "MiB-text")
			b.ReportMetric(float64(fileSize(filepath.Dir(x.path))>>20), "MiB-file")
			b.ReportMetric(float64(peak()), "MB-peak")
		})
	}
}

func report(b *testing.B, took []time.Duration) {
	median, p95 := percentiles(took)
	b.ReportMetric(float64(median.Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(p95.Microseconds())/1000, "ms-p95")
}

// fill builds an index of n chunks, each a unit.
func fill(b *testing.B, n, size int) *Index {
	b.Helper()
	x, err := Open(b.Context(), b.TempDir(), "!a:x")
	must(b, err)
	b.Cleanup(func() { must(b, x.Close()) })
	write := writerOf(1)
	at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	const step = 20_000
	for from := 0; from < n; from += step {
		doc := Document{Source: SourceLog, Path: fmt.Sprintf("memory/%d.md", from)}
		for i := range min(step, n-from) {
			at = at.Add(7 * time.Minute)
			doc.Entries = append(doc.Entries, Entry{From: i + 1, To: i + 1, Time: at, Text: write(size), Alone: true})
		}
		must(b, x.write(b.Context(), "fill", func(w *writer) error { // beyond what finish lets in
			err := w.put(doc)
			w.changed = false
			return err
		}))
	}
	_, err = x.db.Exec("UPDATE room SET chunks = ?", n)
	must(b, err)
	runtime.GC()
	return x
}

// fillVectors gives all chunks random vectors, and returns one like them.
func fillVectors(b *testing.B, x *Index) Vector {
	b.Helper()
	r := rand.New(rand.NewPCG(5, 5))
	random := func() []float32 {
		values := make([]float32, Dimensions)
		for i := range values {
			values[i] = float32(r.NormFloat64() + 0.8)
		}
		return values
	}
	must(b, x.write(b.Context(), "fill", func(w *writer) error {
		of, err := w.unembedded(scripted, 1<<30, 1<<30)
		must(b, err)
		var values [][]byte
		for range of {
			values = append(values, quantize(random()))
		}
		return w.embed(scripted, of, values)
	}))
	return Vector{scripted, random()}
}

// BenchmarkIndex measures how long 1 MiB of text takes, and the same again.
func BenchmarkIndex(b *testing.B) {
	write := writerOf(2)
	var text strings.Builder
	for i := 0; text.Len() < 1<<20; i++ {
		if i%20 == 0 {
			fmt.Fprintf(&text, "\n## Topic %d\n\n", i)
		}
		fmt.Fprintf(&text, "- %s\n", write(20))
	}
	doc := document(SourceNote, "notes", text.String())
	var whole, again []time.Duration
	dir := b.TempDir()
	for i := 0; b.Loop(); i++ {
		x, err := Open(b.Context(), dir, fmt.Sprintf("!%d:x", i))
		must(b, err)
		begin := time.Now()
		must(b, x.Put(b.Context(), doc))
		whole = append(whole, time.Since(begin))
		begin = time.Now()
		must(b, x.Rebuild(b.Context(), doc))
		again = append(again, time.Since(begin))
		must(b, x.Close())
	}
	report(b, whole)
	median, _ := percentiles(again)
	b.ReportMetric(float64(median.Microseconds())/1000, "ms-again")
}

// BenchmarkOpen measures opening and closing an index of 20,000 chunks, with one search in between.
func BenchmarkOpen(b *testing.B) {
	x := fill(b, 20_000, 40)
	dir := filepath.Dir(x.path)
	var open []time.Duration
	for b.Loop() {
		begin := time.Now()
		x, err := Open(b.Context(), dir, "!a:x")
		open = append(open, time.Since(begin))
		must(b, err)
		must(b, x.Close())
	}
	report(b, open)
}
