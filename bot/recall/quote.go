package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
	"matrix-tui/state/scrub"
	"matrix-tui/state/sentence"
)

const (
	maxStated = 5   // notes that one task may add or replace
	maxNote   = 300 // bytes of a note
	minQuote  = 8   // characters
	maxQuote  = 1000
)

// Speech is what the person of a running task has written in the room: only that can become a note.
type Speech struct {
	Task string // key
	By   string // name
	Said []Said

	Secrets []string // that the person gave as answers
}

// Begin says what the person of the room's running task has written.
func (m *Memory) Begin(room string, s Speech) {
	if m == nil {
		return
	}
	r := m.room(room)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.speech = s
}

// Statement is what the agent wants the room to remember, with the person's words that say it.
type Statement struct {
	Kind        state.NoteKind
	Text, Quote string
	Old         string // the ID or the text of the note that it replaces, or ""
}

// State makes a note of a person's words, if the person of the running task has written them: the quote must be
// literally in one of the messages, outside of quotations and code. The error has a sentence that says what is wrong.
func (m *Memory) State(ctx context.Context, room string, s Statement) (state.Note, error) {
	r := m.room(room)
	r.mu.Lock()
	speech := r.speech
	r.mu.Unlock()
	n := state.Note{Room: room, Task: speech.Task, By: speech.By, Kind: s.Kind, Salience: 0.8, Source: state.FromAgent}
	before, err := m.journal.Memory.NotesOfTask(ctx, speech.Task)
	if err != nil {
		return n, err
	}
	if len(before) >= maxStated {
		return n, refused("this task has noted %d things already; that is enough", maxStated)
	}
	var old state.Note
	if s.Old != "" {
		if old, err = m.noted(ctx, room, s.Old); err != nil {
			return n, err
		}
		if old.Scope != "" && old.Scope != speech.By {
			return n, refused("that note is about another person, who alone can correct it")
		}
		n.Kind, n.Replaces, n.Scope = old.Kind, old.Text, old.Scope
	}
	if n, err = m.filter.check(n, s, speech); err != nil {
		return n, err
	}
	if question, _, about, ok := parseAnswer(old.Text); ok && n.Kind == state.Answered {
		n.Text = "Q: " + question + " | A: " + n.Text
		if about != "" {
			n.Text += " | Context: " + about
		}
	}
	if s.Old != "" {
		if err := m.drop(ctx, old); err != nil {
			return n, err
		}
	}
	return n, m.note(ctx, n)
}

// check checks a statement and completes its note.
func (f *Filter) check(n state.Note, s Statement, speech Speech) (state.Note, error) {
	n.Text, n.Quote, n.Time, n.File = clean.Line(s.Text, 0), s.Quote, time.Now(), mainFile
	if n.Kind == state.Procedural && s.Old == "" {
		n.Scope = speech.By
	}
	switch {
	case headingOf(n.Kind) == "":
		return n, refused("kind is %q; it must be fact, preference or decision", string(n.Kind))
	case n.Text == "" || len(n.Text) > maxNote:
		return n, refused("text has %d bytes; it must have 1 to %d", len(n.Text), maxNote)
	case strings.HasPrefix(n.Text, "Q: "), n.Kind == state.Answered && strings.Contains(n.Text, " | "):
		return n, refused("text must be only what is so, without `Q: ` at its beginning, and for an answer without ` | `")
	case utf8.RuneCountInString(strings.TrimSpace(s.Quote)) < minQuote || len(s.Quote) > maxQuote:
		return n, refused("quote must have %d characters or more, and at most %d bytes: the person's own words", minQuote,
			maxQuote)
	case Instructs(n.Text), f.Clean(n.Text, speech.Secrets...) != clean.Text(n.Text),
		f.Clean(s.Quote, speech.Secrets...) != clean.Text(s.Quote):
		return n, refused("that looks like a secret or like instructions to a model: such things are not kept")
	case !sharesWord(n.Text, s.Quote):
		return n, refused("text has no word of the quote: note only what the person has said")
	}
	quote := strings.Join(strings.Fields(clean.Text(s.Quote)), " ") // without a gap
	for _, said := range speech.Said {
		if strings.Contains(quotable(said.Text), quote) {
			n.Event = said.Event
			return n, nil
		}
	}
	return n, refused("the quote is not literally in a message that the person of this task wrote in this room, outside " +
		"of quotations and code; " +
		"words from files, pages, other people or yourself cannot become a note")
}

func refused(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return sentence.Newf(fmt.Errorf("note refused: %s", text), "Nothing was noted: %s.", text)
}

// noted returns the note with an ID, or the only one that has a text.
func (m *indexes) noted(ctx context.Context, room, what string) (state.Note, error) {
	notes, err := m.journal.Memory.Notes(ctx, room, state.Semantic, state.Procedural, state.Reflective, state.Answered)
	if err != nil {
		return state.Note{}, err
	}
	id := strings.TrimPrefix(strings.TrimPrefix(what, "note/"), "answer/")
	wanted := scrub.Plain(what)
	found := slices.DeleteFunc(notes, func(n state.Note) bool {
		return n.ID != id && (wanted == "" || !strings.Contains(scrub.Plain(n.Text), wanted))
	})
	if len(found) != 1 {
		return state.Note{}, refused("%d notes fit %q: give the ID of one, as memory_search shows it, or its whole text",
			len(found), clean.Line(what, 80))
	}
	return found[0], nil
}

// note stores a note, also in the index.
func (m *indexes) note(ctx context.Context, n state.Note) error {
	added, err := m.journal.Memory.AddNotes(ctx, n)
	if err != nil || len(added) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return m.with(ctx, n.Room, func(x *memory.Index) error { return m.put(ctx, x, documents(added)...) })
}

// drop removes a note, also from the index.
func (m *indexes) drop(ctx context.Context, n state.Note) error {
	if err := m.journal.Memory.RemoveNotes(ctx, n); err != nil {
		return err
	}
	docs := documents([]state.Note{n})
	docs[0].Entries = nil
	return m.use(ctx, n.Room, writeTime, func(ctx context.Context, x *memory.Index) error {
		return m.put(ctx, x, docs...)
	})
}

// Undo takes back what a task has noted, and restores what that has replaced. It returns the notes that are gone.
func (m *Memory) Undo(ctx context.Context, task string) ([]state.Note, error) {
	if m == nil {
		return nil, nil
	}
	notes, err := m.journal.Memory.NotesOfTask(ctx, task)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		old := n
		if err := m.drop(ctx, n); err != nil {
			return nil, err
		}
		if old.Text, old.Quote, old.Task, old.Replaces, old.Written = n.Replaces, "", "", "", false; old.Text != "" {
			old.Source, old.By = state.Added, n.Scope // whoever has noted that is not known any more
			if err := m.note(ctx, old); err != nil {
				return nil, err
			}
		}
	}
	return notes, nil
}

// Noted is the line of a task's result that shows what the task has noted, or "".
func (m *Memory) Noted(ctx context.Context, task string) (string, error) {
	if m == nil {
		return "", nil
	}
	notes, err := m.journal.Memory.NotesOfTask(ctx, task)
	return NotedLine(notes), err
}

// NotedLine shows notes in one line, "" if there are none.
func NotedLine(notes []state.Note) string {
	var all []string
	for _, n := range notes {
		text := clean.Line(n.Text, 200)
		if _, answer, _, ok := parseAnswer(n.Text); ok {
			text = clean.Line(answer, 200)
		}
		if n.Replaces != "" {
			text += " (instead of: " + clean.Line(n.Replaces, 100) + ")"
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return ""
	}
	return "noted: " + strings.Join(all, "; ")
}
