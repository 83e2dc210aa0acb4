package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
)

// How many entries of each kind a task is given.
const (
	mostCommands    = 5
	mostPreferences = 3
	mostAnswers     = 3
	mostRetrieved   = 5
	// leastScore is what an entry must reach to be given as retrieved memory.
	leastScore = 0.12
	// maxRetrieved bounds the text of a retrieved entry, in bytes.
	maxRetrieved = 800
)

// Known is what a room knows about a task before it starts.
type Known struct {
	Commands, Preferences, Answers, Retrieved []string

	ids   []string
	given map[string]bool // what the session has
	seen  []string
}

// take shows results, unless they say the same as others, or the session has them.
func (k *Known) take(hits []memory.Hit, most int, show func(memory.Hit) string) (out []string) {
	for _, hit := range hits {
		twice := func(text string) bool { return strings.Contains(hit.Text, text) }
		if len(out) == most || k.given[hit.ID] || k.given[hit.Path] || slices.ContainsFunc(k.seen, twice) ||
			Instructs(hit.Text) {
			continue
		}
		k.seen = append(k.seen, hit.Text)
		k.ids = append(k.ids, cmp.Or(hit.ID, hit.Path))
		out = append(out, show(hit))
	}
	return out
}

// Find returns what a room knows about what a person says: a task, with what it quotes. What the session was given
// before is left out; a new session has been given nothing. A failure is logged and finds nothing: a task never waits
// for its memory. What the other rooms remember comes last.
func (m *Memory) Find(ctx context.Context, room, by, session, text string, others ...string) (k Known) {
	if m == nil {
		return k
	}
	stopping := ctx
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	if !m.knows(room) { // its first task
		k.addOthers(ctx, m.indexes, room, text, memory.Vector{}, others)
		return k
	}
	defer m.embedSoon(room)
	vector := m.Vector(ctx, askTime, room, text)
	err := m.with(ctx, room, func(x *memory.Index) (err error) {
		if k.given, err = x.Given(ctx, session); err != nil {
			return err
		}
		notes, err := m.journal.Memory.Notes(ctx, room, state.Semantic, state.Procedural, state.Reflective)
		if err == nil {
			err = k.find(ctx, x, notes, by, text, vector)
		}
		return err
	})
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			m.soon(room) // its index has to be built
		}
		m.warn(stopping, room, "cannot search the memory of a room", err)
		return Known{}
	}
	k.addOthers(ctx, m.indexes, room, text, vector, others)
	return k
}

// Gave records that a session was given what Find returned.
func (m *Memory) Gave(ctx context.Context, room, session string, k Known) {
	if m == nil || len(k.ids) == 0 {
		return
	}
	err := m.use(ctx, room, writeTime, func(ctx context.Context, x *memory.Index) error {
		return x.Give(ctx, session, k.ids...)
	})
	m.warn(ctx, room, "cannot note what a session was given", err)
}

// find finds what fits. Notes of one person count for that person only.
func (k *Known) find(ctx context.Context, x *memory.Index, notes []state.Note, by, text string,
	vector memory.Vector) error {
	search := func(most int, least float64, sources ...memory.Source) ([]memory.Hit, error) {
		return x.Search(ctx, memory.Query{Text: text, Vector: vector, Max: 3 * most, Min: least, Sources: sources,
			Person: cmp.Or(by, memory.Nobody)})
	}

	hits, err := search(mostPreferences, leastScore, memory.SourceNote)
	if err != nil {
		return err
	}
	for _, n := range notes {
		if n.Scope == "" || n.Scope == by {
			hits = append(hits, memory.Hit{Path: "note/" + n.ID, Text: n.Text})
		}
	}
	k.Preferences = k.take(hits, mostPreferences, oneLine)
	if hits, err = search(mostAnswers, 0, memory.SourceAnswer); err != nil {
		return err
	}
	k.Answers = k.take(newestAnswers(hits), mostAnswers, oneLine)
	if hits, err = search(mostCommands, leastScore, memory.SourceExecution); err != nil {
		return err
	}
	k.Commands = k.take(hits, mostCommands, oneLine)
	hits, err = search(mostRetrieved, leastScore, memory.SourceLog, memory.SourceImport, memory.SourceTranscript)
	if err != nil {
		return err
	}
	k.Retrieved = k.take(hits, mostRetrieved, placed)
	return nil
}

// newestAnswers leaves out answers to a question that was answered again later.
func newestAnswers(hits []memory.Hit) []memory.Hit {
	newest := map[string]time.Time{}
	for _, hit := range hits {
		question, _, _, _ := parseAnswer(hit.Text)
		if hit.Time.After(newest[question]) {
			newest[question] = hit.Time
		}
	}
	return slices.DeleteFunc(hits, func(hit memory.Hit) bool {
		question, _, _, _ := parseAnswer(hit.Text)
		return hit.Time.Before(newest[question])
	})
}

func oneLine(hit memory.Hit) string { return clean.Line(hit.Text, 3*maxField) }

// placed is a text with where it is.
func placed(hit memory.Hit) string {
	where := fmt.Sprintf("%s:%d", hit.Path, hit.From)
	switch {
	case hit.Source == memory.SourceLog:
		where = "the daily log"
	case hit.Source == memory.SourceTranscript:
		where = "an earlier conversation" // there is no such file
	case hit.To > hit.From:
		where += fmt.Sprintf("-%d", hit.To)
	}
	if !hit.Time.IsZero() {
		where += " (" + hit.Time.Format(time.DateOnly) + ")"
	}
	return where + ": " + clean.Line(hit.Text, maxRetrieved)
}
