package memory

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"matrix-tui/agent/agenttest"
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
// it, and for paraphrases that share none: with words alone, and merged with vectors. The vectors are not those of a real
// model: the scripted one has a list of words that mean the same (testdata/thesaurus.txt), written by somebody who knew
// the questions. So the second row says that merging works, not how well Google's model finds paraphrases.
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
	must(t, x.Put(t.Context(), doc))
	for _, q := range questions {
		if common := sharedStems(q.text, q.note); (len(common) > 0) != q.shared {
			t.Errorf("question %q and note %q share %q", q.text, q.note, common)
		}
	}
	model := thesaurus(t)
	embedAll(t, x, model)
	table := "\nranking           shared words  paraphrases  all          (first/among five)"
	for _, ranking := range []struct {
		name                string
		model               *agenttest.Embeddings
		shared, paraphrases float64 // wanted among five
	}{{"lexical", nil, 0.9, 0}, {"merged, scripted", model, 0.9, 0.6}} {
		shared, paraphrased := recallOf(t, x, questions, ranking.model)
		table += fmt.Sprintf("\n%-17s %s   %s  %s", ranking.name, shared, paraphrased, shared.plus(paraphrased))
		if _, five := shared.share(); five < ranking.shared || shared.count() != 40 {
			t.Errorf("%s: %.3f of %d questions that share words are answered among the first five, want %.2f of 40 (0.75 are promised)", ranking.name, five, shared.count(), ranking.shared)
		}
		if _, five := paraphrased.share(); five < ranking.paraphrases {
			t.Errorf("%s: %.3f of the paraphrases are answered among the first five, want %.2f", ranking.name, five, ranking.paraphrases)
		}
	}
	t.Log(table)
}

// recallOf asks all questions. Without a model, only words count.
func recallOf(t *testing.T, x *Index, questions []noteQuestion, model *agenttest.Embeddings) (shared, paraphrased tally) {
	t.Helper()
	for _, q := range questions {
		query := Query{Text: q.text, Max: 5, Now: day(6, 1)}
		if model != nil {
			query.Vector = vectorOf(model, q.text)
		}
		hits, err := x.Search(t.Context(), query)
		must(t, err)
		rank := slices.IndexFunc(hits, func(h Hit) bool { return h.Text == q.note })
		if q.shared {
			shared.add(0, rank)
		} else {
			paraphrased.add(0, rank)
		}
		if rank < 0 && (q.shared || model != nil) {
			t.Logf("not found: %q", q.text)
		}
	}
	return shared, paraphrased
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
