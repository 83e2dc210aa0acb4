package recall

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
	"matrix-tui/state/scrub"
	"matrix-tui/state/sentence"
)

const (
	shownEntries = 10 // that a search shows
	shownOfKind  = 5  // that `!memory` shows of each kind
)

// Usage is what `!memory` takes.
const Usage = "`!memory search WORDS` also finds what was said and done here. `!memory add TEXT` adds a fact. " +
	"`!memory forget TEXT` forgets every message, result and note that contains the text, or the entry with an ID from " +
	"a search."

const off = "I have no memory: the operator has turned it off (`SLOTS_MEMORY=none`). The conversation and the files " +
	"in `/workspace` are kept."

// Command carries out `!memory …` of a user, and returns the answer in Markdown. It does not know "forget", which takes
// more than the memory. The others are rooms of which the tasks of this room use the memory.
func (m *Memory) Command(ctx context.Context, room, event, by, text string,
	others ...string) (answer string, err error) {
	if m == nil {
		return off, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	verb, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch verb, rest = strings.ToLower(verb), strings.TrimSpace(rest); {
	case verb == "" || verb == "list":
		notes, err := m.journal.Memory.Notes(ctx, room)
		return summary(notes) + readsFrom(room, others) + Usage, err
	case rest == "":
		return Usage, nil
	case verb == "search":
		return searched(ctx, m, room, rest)
	case verb == "add":
		return added(ctx, m, state.Note{Room: room, Event: event, By: by, Kind: state.Semantic, Text: rest})
	}
	return Usage, nil
}

func searched(ctx context.Context, m *Memory, room, words string) (string, error) {
	hits, err := m.Search(ctx, room, memory.Query{Text: words, Max: shownEntries})
	if err != nil {
		return "", err
	}
	if len(hits) == 0 {
		return "I found nothing on that in this room's memory.", nil
	}
	var out strings.Builder
	for _, hit := range hits {
		day := ""
		if !hit.Time.IsZero() {
			day = hit.Time.Format(time.DateOnly) + " "
		}
		fmt.Fprintf(&out, "- `%s` %s%s: %s\n", hit.ID, day, hit.Source,
			clean.Line(strings.ReplaceAll(hit.Text, "`", "'"), 240))
	}
	return out.String(), nil
}

func added(ctx context.Context, m *Memory, n state.Note) (string, error) {
	switch isNew, err := m.Add(ctx, n); {
	case errors.Is(err, ErrNotKept):
		return "I do not keep that: it looks like a secret, or like instructions for the agent. Nothing was added.", nil
	case err != nil:
		return "", err
	case !isNew:
		return "I remember that already.", nil
	}
	return "I will remember that in this room. After the next task it is also in `/workspace/MEMORY.md`.", nil
}

// ErrNotKept means that a text looks like a secret, or like instructions for the agent.
var ErrNotKept = errors.New("memory does not keep this text")

// Add adds what a person wants a room to remember. It reports false if the note is there already.
func (m *Memory) Add(ctx context.Context, n state.Note) (added bool, err error) {
	if n.Text = clean.Line(n.Text, maxSaid); Instructs(n.Text) || m.filter.Clean(n.Text) != n.Text {
		return false, ErrNotKept
	}
	defer m.embedSoon(n.Room)
	n.Time, n.Source, n.Salience, n.File = time.Now(), state.Added, 1, mainFile
	notes, err := m.journal.Memory.AddNotes(ctx, n)
	if err != nil || len(notes) == 0 {
		return false, err
	}
	return true, m.update(ctx, n.Room, func(x *memory.Index) error { return m.put(ctx, x, documents(notes)...) })
}

// KindOf returns the kind of notes that people call by a word, such as "fact".
func KindOf(word string) (state.NoteKind, bool) {
	kind, ok := map[string]state.NoteKind{
		"fact": state.Semantic, "semantic": state.Semantic, "preference": state.Procedural, "procedural": state.Procedural,
		"decision": state.Reflective, "lesson": state.Reflective, "reflective": state.Reflective,
	}[strings.ToLower(word)]
	return kind, ok
}

// Import stores a conversation from a file, without secrets, in place of what came from there before. It returns how
// many messages it has.
func (m *Memory) Import(ctx context.Context, room, origin string, r io.Reader) (n int, err error) {
	entries, err := memory.ParseImport(r)
	if err != nil {
		return 0, fmt.Errorf("import %s: %w", origin, err)
	}
	size, err := m.journal.Memory.ImportedBytes(ctx, room, origin)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		size += len(e.Text)
	}
	if size > memory.MaxText {
		return 0, sentence.Newf(memory.ErrFull,
			"The imports of this room would have more than %d MiB of text. Nothing was changed.", memory.MaxText>>20)
	}
	messages := make([]state.Imported, 0, len(entries))
	for _, e := range entries {
		messages = append(messages, state.Imported{Line: e.From, Time: e.Time, Speaker: e.Speaker,
			Text: m.filter.Clean(e.Text)})
	}
	if err := m.journal.Memory.Import(ctx, room, origin, messages); err != nil {
		return 0, err
	}
	return len(entries), m.Rebuild(ctx, room)
}

// Rebuild makes the index of a room what the record has, at once.
func (m *Memory) Rebuild(ctx context.Context, room string) error {
	if m == nil {
		return nil
	}
	if err := m.Doubt(ctx, room); err != nil {
		return err
	}
	return m.with(ctx, room, func(*memory.Index) error { return nil })
}

// Reindex builds the index of a room from nothing.
func (m *indexes) Reindex(ctx context.Context, room string) error {
	m.room(room).change()
	if err := memory.Remove(m.dir, room); err != nil {
		return err
	}
	return m.with(ctx, room, func(*memory.Index) error { return nil })
}

// ErrTooShort means that a text would be in nearly every entry.
var ErrTooShort = errors.New("too short to be forgotten")

// Meant is what a person wants to be forgotten: texts, and messages. what is a text, or the ID of an entry or a note.
func (m *Memory) Meant(ctx context.Context, room, what string) (texts, events []string, err error) {
	what = strings.TrimSpace(what)
	if id, err := hex.DecodeString(what); err == nil && len(id) == 5 && m != nil {
		notes, err := m.journal.Memory.Notes(ctx, room)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range notes {
			if n.ID == what {
				return append(longer([]string{n.Quote}), n.Text), nil, nil
			}
		}
		found := false
		err = m.use(ctx, room, lookTime, func(ctx context.Context, x *memory.Index) error {
			entries, err := x.Entries(ctx, what)
			found = len(entries) > 0
			for _, e := range entries {
				texts = append(texts, strings.Split(e.Text, mark)...)
				if e.Event != "" {
					events = append(events, e.Event)
				}
			}
			for _, n := range notes {
				for _, e := range entries {
					if n.Text == e.Text {
						texts = append(texts, quoted(n)...)
					}
				}
			}
			return err
		})
		if texts = longer(texts); err == nil && found && len(texts)+len(events) == 0 {
			err = ErrTooShort
		}
		if err != nil || found {
			return texts, events, err
		}
	}
	if len(scrub.Plain(what)) < 3 {
		return nil, nil, ErrTooShort
	}
	return []string{what}, nil, nil
}

func quoted(n state.Note) []string { return longer([]string{n.Text, n.Quote}) }

// longer returns the texts that are no mere words.
func longer(texts []string) (out []string) {
	for _, text := range texts {
		if len(scrub.Plain(text)) >= minQuote {
			out = append(out, text)
		}
	}
	return out
}

// summary lists what a room remembers for people, by kind.
func summary(notes []state.Note) string {
	var out strings.Builder
	for _, s := range sections {
		var list []string
		for _, n := range notes {
			words := n.Text
			if question, answer, _, ok := parseAnswer(n.Text); ok {
				words = question + " – " + answer
			}
			if n.Kind == s.kind {
				list = append(list, "- "+clean.Line(strings.ReplaceAll(words, "`", "'"), 240)+"\n")
			}
		}
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(&out, "**%s**\n\n%s", s.heading, strings.Join(list[:min(len(list), shownOfKind)], ""))
		if more := len(list) - shownOfKind; more > 0 {
			fmt.Fprintf(&out, "- … and %d more\n", more)
		}
		out.WriteByte('\n')
	}
	if out.Len() == 0 {
		return "I remember no preferences, facts or answers in this room yet.\n\n"
	}
	return out.String()
}

// Forgotten is what a person is told after something was forgotten.
func Forgotten(n int, open bool) string {
	said := "I have forgotten " + strings.ToLower(text.Plural(n, "entry", "entries")) +
		". The next task starts a new session. Files in `/workspace` other than the notes may still contain it, and so " +
		"does this room's own timeline."
	if open {
		said += " A task that has not ended still has it: repeat the command when it has."
	}
	return said
}
