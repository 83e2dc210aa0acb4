package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
	"matrix-tui/state/sentence"
)

const (
	shownEntries = 10 // that a search shows
	shownOfKind  = 5  // that `!memory` shows of each kind
)

// Usage is what `!memory` takes.
const Usage = "`!memory search WORDS` also finds what was said and done here. `!memory add TEXT` adds a fact. " +
	"`!memory forget TEXT` forgets every entry that contains the text, or the one with an ID from a search."

// Command carries out `!memory …` of a user, and returns the answer in Markdown. After it
// has made the room forget something, the next task starts a new session, because the
// current one may still know it. The others are rooms of which the tasks of this room use the memory.
func (m *Memory) Command(ctx context.Context, room, event, text string, others ...string) (answer string, err error) {
	if m == nil {
		return "I have no memory: the operator has turned it off (`SLOTS_MEMORY=none`). The conversation and the files in `/workspace` are kept.", nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	defer m.embedSoon(room)
	verb, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	var vector memory.Vector
	if strings.EqualFold(verb, "search") && rest != "" {
		vector = m.Vector(ctx, askTime, room, rest) // while no index is open
	}
	err = m.with(ctx, room, func(x *memory.Index) (err error) {
		switch verb = strings.ToLower(verb); {
		case verb == "" || verb == "list":
			answer, err = newest(ctx, x, readsFrom(room, others))
		case rest == "":
			answer = Usage
		case verb == "search":
			answer, err = search(ctx, x, rest, vector)
		case verb == "add":
			answer, err = m.add(ctx, x, event, rest)
		case verb == "forget":
			answer, err = m.forget(ctx, x, rest)
		default:
			answer = Usage
		}
		return err
	})
	if said, ok := sentence.Of(err); ok && errors.Is(err, memory.ErrNotFound) {
		return said, nil
	}
	return answer, err
}

func newest(ctx context.Context, x *memory.Index, more string) (string, error) {
	hits, err := x.Newest(ctx, memory.MaxHits, memory.SourceNote, memory.SourceAnswer, memory.SourceMemory)
	if err != nil {
		return "", err
	}
	list := summary(hits)
	if list == "" {
		list = "I remember no preferences, facts or answers in this room yet.\n\n"
	}
	return list + more + Usage, nil
}

func search(ctx context.Context, x *memory.Index, words string, vector memory.Vector) (string, error) {
	hits, err := x.Search(ctx, memory.Query{Text: words, Vector: vector, Max: shownEntries})
	if err != nil {
		return "", err
	}
	if len(hits) == 0 {
		return "I find nothing about that in this room's memory.", nil
	}
	return shown(hits), nil
}

func (m *Memory) add(ctx context.Context, x *memory.Index, event, text string) (string, error) {
	switch added, err := m.Note(ctx, x, event, "fact", clean.Line(text, maxSaid)); {
	case errors.Is(err, ErrNotKept):
		return "I do not keep that: it looks like a secret, or like instructions for the agent. Nothing was added.", nil
	case err != nil:
		return "", err
	case !added:
		return "I remember that already.", nil
	}
	return "I will remember that in this room. After the next task it is also in `/workspace/MEMORY.md`.", nil
}

func (m *Memory) forget(ctx context.Context, x *memory.Index, what string) (string, error) {
	known, err := x.Knows(ctx, what)
	if err == nil && known { // first: the command may be repeated after a crash, and then finds nothing any more
		err = m.store.EndSession(ctx, x.Room())
	}
	if err != nil {
		return "", err
	}
	n, err := x.Forget(ctx, what)
	if errors.Is(err, memory.ErrNotFound) {
		n, err = x.ForgetText(ctx, what)
	}
	if err != nil {
		return "", err
	}
	entries := strings.ToLower(text.Plural(n, "entry", "entries"))
	return "I have forgotten " + entries + ". The next task starts a new session, because the current one may still know it. The files in `/workspace` follow after that task.", nil
}

// shown lists hits.
func shown(hits []memory.Hit) string {
	var out strings.Builder
	for _, hit := range hits {
		day := ""
		if !hit.Time.IsZero() {
			day = hit.Time.Format(time.DateOnly) + " "
		}
		fmt.Fprintf(&out, "- `%s` %s%s: %s\n", hit.ID, day, hit.Source, clean.Line(strings.ReplaceAll(hit.Text, "`", "'"), 240))
	}
	return out.String()
}
