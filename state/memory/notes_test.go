package memory

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// noteQuestion is a question whose answer is one note.
type noteQuestion struct {
	shared bool // a word with the note
	text   string
	note   string
}

// readNotes reads testdata: the notes, and questions with a part of the note that answers them.
func readNotes(t *testing.T) (notes []string, questions []noteQuestion) {
	t.Helper()
	data, err := os.ReadFile("testdata/notes.txt")
	must(t, err)
	notes = strings.Split(strings.TrimSpace(string(data)), "\n")
	data, err = os.ReadFile("testdata/questions.txt")
	must(t, err)
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			t.Fatalf("line %q", line)
		}
		fits := func(note string) bool { return strings.Contains(note, fields[2]) }
		i := slices.IndexFunc(notes, fits)
		if i < 0 || slices.IndexFunc(notes[i+1:], fits) >= 0 {
			t.Fatalf("not exactly one note contains %q", fields[2])
		}
		questions = append(questions, noteQuestion{fields[0] == "shared", fields[1], notes[i]})
	}
	return notes, questions
}

// TestNotesRecall measures how often the note that answers a question is found, for questions that share words with
// it, and for paraphrases that share none.
func TestNotesRecall(t *testing.T) {
	notes, questions := readNotes(t)
	if len(notes) != 400 || len(questions) != 60 {
		t.Fatalf("%d notes and %d questions, want 400 and 60", len(notes), len(questions))
	}
	x := openIn(t, t.TempDir())
	doc := Document{Source: SourceLog, Path: "memory/notes.md"}
	for i, note := range notes {
		doc.Entries = append(doc.Entries, Entry{From: i + 1, To: i + 1, Time: day(1, 1).Add(time.Duration(i) * 6 * time.Hour), Text: note, Alone: true})
	}
	_, err := x.Put(t.Context(), doc)
	must(t, err)
	var shared, paraphrased tally
	for _, q := range questions {
		if common := sharedStems(q.text, q.note); (len(common) > 0) != q.shared {
			t.Errorf("question %q and note %q share %q", q.text, q.note, common)
		}
		hits, err := x.Search(t.Context(), Query{Text: q.text, Max: 5, Now: day(6, 1)})
		must(t, err)
		rank := slices.IndexFunc(hits, func(h Hit) bool { return h.Text == q.note })
		if q.shared {
			shared.add(0, rank)
		} else {
			paraphrased.add(0, rank)
		}
		if q.shared && rank < 0 {
			t.Logf("not found: %q", q.text)
		}
	}
	t.Logf("\nlexical ranking   first/among five\nshared words      %s\nparaphrases       %s\nall               %s", shared, paraphrased, shared.plus(paraphrased))
	if _, five := shared.share(); five < 0.9 || shared.count() != 40 {
		t.Errorf("%.3f of %d questions that share words are answered among the first five, want 0.9 of 40 (0.75 are promised)", five, shared.count())
	}
}

func sharedStems(a, b string) (common []string) {
	other := parse(b)
	for _, stem := range parse(a) {
		if slices.Contains(other, stem) {
			common = append(common, stem)
		}
	}
	return common
}
