package recall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

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
	// Forgotten must not be given to the agent.
	Forgotten memory.Forgotten

	ids   []string
	given map[string]bool // what the session has
}

// Find returns what a room knows about a text: a task, with what it quotes. What the session was given before is left
// out; a new session has been given nothing. A failure is logged and finds nothing: a task never waits for its memory.
// What the other rooms remember comes last.
func (m *Memory) Find(ctx context.Context, room, session, text string, others ...string) (k Known) {
	if m == nil {
		return k
	}
	stopping := ctx
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	if !m.knows(room) && len(m.store.History(room)) == 0 { // its first task
		m.addOthers(ctx, &k, room, text, memory.Vector{}, others)
		return k
	}
	defer m.embedSoon(room)
	vector := m.Vector(ctx, askTime, room, text)
	err := m.with(ctx, room, func(x *memory.Index) (err error) {
		k, err = find(ctx, x, session, text, vector)
		return err
	})
	if err != nil {
		m.warn(stopping, room, "cannot search the memory of a room", err)
		if len(k.Forgotten) == 0 { // what was forgotten stays so, even if the index cannot be read now
			k.Forgotten, err = memory.LoadForgotten(m.dir, room)
			m.warn(stopping, room, "cannot read what a room has forgotten", err)
		}
		return Known{Forgotten: k.Forgotten}
	}
	m.addOthers(ctx, &k, room, text, vector, others)
	return k
}

// Forgot reports whether a text must not be given to the agent: the index has it without its secrets.
func (m *Memory) Forgot(f memory.Forgotten, text string) bool {
	return len(f) > 0 && (f.Text(text) || f.Text(m.filter.keep(text)))
}

// Gave records that a session was given what Find returned.
func (m *Memory) Gave(ctx context.Context, room, session string, k Known) {
	if m == nil || len(k.ids) == 0 {
		return
	}
	err := m.use(ctx, room, writeTime, func(ctx context.Context, x *memory.Index) error { return x.Give(ctx, session, k.ids) })
	if err != nil && ctx.Err() == nil {
		m.log.Warn().Err(err).Str("room", room).Msg("cannot note what a session was given")
	}
}

func find(ctx context.Context, x *memory.Index, session, text string, vector memory.Vector) (k Known, err error) {
	if k.Forgotten, err = x.Forgotten(ctx); err != nil {
		return k, err
	}
	given, err := x.Given(ctx, session)
	if err != nil {
		return k, err
	}
	k.given = given
	var seen []string
	take := func(hits []memory.Hit, most int, show func(memory.Hit) string) (out []string) {
		for _, hit := range hits {
			if hit.Text = news(hit.Text, given); hit.Text == "" {
				continue
			}
			shown := show(hit)
			twice := func(text string) bool { return strings.Contains(hit.Text, text) }
			if len(out) == most || given[hit.ID] || given[hit.Path] || slices.ContainsFunc(seen, twice) || Instructs(hit.Text) {
				continue
			}
			seen = append(seen, hit.Text)
			k.ids = append(k.ids, hit.ID)
			out = append(out, shown)
		}
		return out
	}
	search := func(most int, least float64, sources ...memory.Source) ([]memory.Hit, error) {
		return x.Search(ctx, memory.Query{Text: text, Vector: vector, Max: 3 * most, Min: least, Sources: sources})
	}

	hits, err := search(mostPreferences, 0, memory.SourceNote)
	if err != nil {
		return k, err
	}
	newest, err := x.Newest(ctx, 3*mostPreferences, memory.SourceNote)
	if err != nil {
		return k, err
	}
	k.Preferences = take(append(corrections(hits), newest...), mostPreferences, oneLine)
	if hits, err = search(mostAnswers, 0, memory.SourceAnswer); err != nil {
		return k, err
	}
	k.Answers = take(newestAnswers(hits), mostAnswers, oneLine)
	if hits, err = search(mostCommands, leastScore, memory.SourceExecution); err != nil {
		return k, err
	}
	k.Commands = take(hits, mostCommands, oneLine)
	hits, err = search(mostRetrieved, leastScore, memory.SourceMemory, memory.SourceContext, memory.SourceLog, memory.SourceImport, memory.SourceTranscript)
	if err != nil {
		return k, err
	}
	k.Retrieved = take(hits, mostRetrieved, placed)
	return k, nil
}

// lineKey stands for a line of a memory file among the things that a session was given.
func lineKey(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "line " + hex.EncodeToString(sum[:8])
}

// news returns a text without the lines that come from the session itself. A line may follow its heading and a colon.
func news(text string, given map[string]bool) string {
	if len(given) == 0 {
		return text
	}
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		_, rest, _ := strings.Cut(line, ": ")
		if !given[lineKey(item(line))] && !given[lineKey(item(rest))] {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// corrections puts corrections first.
func corrections(hits []memory.Hit) []memory.Hit {
	isCorrection := func(h memory.Hit) bool { return strings.HasPrefix(h.Text, "correction: ") }
	slices.SortStableFunc(hits, func(a, b memory.Hit) int {
		switch {
		case isCorrection(a) == isCorrection(b):
			return 0
		case isCorrection(a):
			return -1
		}
		return 1
	})
	return hits
}

// newestAnswers leaves out answers to a question that was answered again later.
func newestAnswers(hits []memory.Hit) []memory.Hit {
	newest := map[string]time.Time{}
	for _, hit := range hits {
		question, _, _ := parseAnswer(hit.Text)
		if hit.Time.After(newest[question]) {
			newest[question] = hit.Time
		}
	}
	return slices.DeleteFunc(hits, func(hit memory.Hit) bool {
		question, _, _ := parseAnswer(hit.Text)
		return hit.Time.Before(newest[question])
	})
}

func oneLine(hit memory.Hit) string { return clean.Line(hit.Text, 3*maxField) }

// placed is a text with where it is.
func placed(hit memory.Hit) string {
	where := fmt.Sprintf("%s:%d", hit.Path, hit.From)
	name, folded := memory.Folded(hit.Path)
	switch {
	case folded:
		where = "the daily log " + name // nor this one
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
