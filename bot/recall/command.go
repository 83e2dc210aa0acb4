package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
	"matrix-tui/state/sentence"
)

// shownEntries is how many entries a room is shown.
const shownEntries = 10

// Usage is what `!memory` takes.
const Usage = "`!memory` shows what I remember in this room, newest first. `!memory search WORDS` finds something, " +
	"`!memory add TEXT` adds a note, and `!memory forget TEXT` forgets every entry that contains the text, or the entry with an ID such as `1a2b3c4d5e`."

// Reply is the answer to a command.
type Reply struct {
	Text   string // Markdown
	Forgot bool   // something was forgotten: the agent's session may still know it
	Added  bool   // the files in the workspace lack something
}

// Command carries out `!memory …` of a user. The error has a sentence if the user can do something about it.
func (m *Memory) Command(ctx context.Context, room, event, by, text string) (r Reply, err error) {
	if m == nil {
		return Reply{Text: "I have no memory: the operator has turned it off (`MEMORY=none`). The conversation and the files in `/workspace` are kept."}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	verb, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	err = m.with(ctx, room, func(x *memory.Index) (err error) {
		switch verb = strings.ToLower(verb); {
		case verb == "" || verb == "list":
			r.Text, err = newest(ctx, x)
		case rest == "":
			r.Text = Usage
		case verb == "search":
			r.Text, err = search(ctx, x, rest)
		case verb == "add":
			r, err = m.add(ctx, x, event, by, rest)
		case verb == "forget":
			r, err = forget(ctx, x, rest)
		default:
			r.Text = Usage
		}
		return err
	})
	if said, ok := sentence.Of(err); ok && errors.Is(err, memory.ErrNotFound) {
		return Reply{Text: said}, nil
	}
	return r, err
}

func newest(ctx context.Context, x *memory.Index) (string, error) {
	hits, err := x.Newest(ctx, shownEntries)
	if err != nil {
		return "", err
	}
	status, err := x.Status(ctx)
	if err != nil {
		return "", err
	}
	if len(hits) == 0 {
		return "I remember nothing in this room yet.", nil
	}
	return fmt.Sprintf("I remember %d entries in this room. The newest:\n\n%s\n%s", status.Entries, shown(hits), Usage), nil
}

func search(ctx context.Context, x *memory.Index, words string) (string, error) {
	hits, err := x.Search(ctx, memory.Query{Text: words, Max: shownEntries})
	if err != nil {
		return "", err
	}
	if len(hits) == 0 {
		return "I find nothing about that in this room's memory.", nil
	}
	return shown(hits), nil
}

func (m *Memory) add(ctx context.Context, x *memory.Index, event, by, text string) (r Reply, err error) {
	kept := m.filter.keep(text)
	if kept != text {
		return Reply{Text: "I do not keep that: it looks like a secret, or like instructions for the agent. Nothing was added."}, nil
	}
	fact := clean.Line(text, maxSaid)
	added, err := x.Add(ctx, "fact", fact)
	if err != nil {
		return r, err
	}
	if !added {
		return Reply{Text: "I remember that already."}, nil
	}
	_, err = x.Learn(ctx, nil, []memory.Line{{Event: event, Path: mainFile, Section: sections["fact"], Text: fact}})
	return Reply{Text: "I will remember that in this room. It is also in `/workspace/MEMORY.md` after the next task.", Added: true}, err
}

func forget(ctx context.Context, x *memory.Index, what string) (r Reply, err error) {
	n, err := x.Forget(ctx, what)
	if errors.Is(err, memory.ErrNotFound) {
		n, err = x.ForgetText(ctx, what)
	}
	if err != nil {
		return r, err
	}
	entries := "1 entry"
	if n != 1 {
		entries = fmt.Sprintf("%d entries", n)
	}
	return Reply{Text: "I have forgotten " + entries + ". The next task starts a new session, because the current one may still know it. The memory files in `/workspace` follow with that task.", Forgot: true}, nil
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
