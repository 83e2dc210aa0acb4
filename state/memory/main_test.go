package memory

import (
	"strings"
	"testing"
	"time"

	"matrix-tui/state/sentence"
)

const den = "!den:x"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openIn(t testing.TB, dir string) *Index {
	t.Helper()
	x, err := Open(t.Context(), dir, den)
	must(t, err)
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func put(t testing.TB, x *Index, source Source, path, text string) {
	t.Helper()
	must(t, x.Put(t.Context(), document(source, path, text)))
}

// document has an entry for each line. "## " begins a unit, and is the speaker of what is below it.
func document(source Source, path, text string) Document {
	doc, speaker, alone, n := Document{Source: source, Path: path}, "", true, 0
	for line := range strings.Lines(text) {
		n++
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			speaker, alone = strings.TrimSpace(heading), true
		} else if line = strings.TrimSpace(line); line != "" {
			doc.Entries = append(doc.Entries, Entry{From: n, To: n, Speaker: speaker, Text: line, Alone: alone})
			alone = false
		}
	}
	return doc
}

// find returns the texts of the results.
func find(t testing.TB, x *Index, query string) (all []string) {
	t.Helper()
	hits, err := x.Search(t.Context(), Query{Text: query, Max: 10})
	must(t, err)
	for _, h := range hits {
		all = append(all, h.Text)
	}
	return all
}

// wantFirst fails unless the first result contains part.
func wantFirst(t testing.TB, x *Index, query, part string) {
	t.Helper()
	all := find(t, x, query)
	if len(all) == 0 || !strings.Contains(all[0], part) {
		t.Errorf("query %q: got %q, want %q first", query, all, part)
	}
}

func wantNothing(t testing.TB, x *Index, query string) {
	t.Helper()
	if all := find(t, x, query); len(all) > 0 {
		t.Errorf("query %q: got %q, want nothing", query, all)
	}
}

func wantSentence(t testing.TB, err error, part string) {
	t.Helper()
	if said, ok := sentence.Of(err); !ok || !strings.Contains(said, part) {
		t.Errorf("error %v says %q, want %q", err, said, part)
	}
}

// imported stores a conversation as the caller does that has read it from a file.
func imported(t testing.TB, x *Index, path, lines string) {
	t.Helper()
	entries, err := ParseImport(strings.NewReader(lines))
	must(t, err)
	must(t, x.Put(t.Context(), Document{Source: SourceImport, Path: path, Entries: entries}))
}

// note stores a note as the caller does that has it in the record.
func note(t testing.TB, x *Index, kind, text string) {
	t.Helper()
	must(t, x.Put(t.Context(), Document{Source: SourceNote, Path: "note/" + text, Kind: kind,
		Entries: []Entry{{From: 1, To: 1, Time: time.Now(), Text: text, Alone: true}}}))
}

func day(month time.Month, day int) time.Time {
	return time.Date(2026, month, day, 10, 0, 0, 0, time.UTC)
}
