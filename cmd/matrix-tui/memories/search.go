package memories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/recall"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
	"matrix-tui/state/scrub"
	"matrix-tui/state/sentence"
)

// memoryHit is a result as `search -json` prints it.
type memoryHit struct {
	Score  float64       `json:"score"`
	Source memory.Source `json:"source"`
	Path   string        `json:"path"`
	From   int           `json:"from"`
	To     int           `json:"to"`
	Time   *time.Time    `json:"time"` // null if it is not known
	Text   string        `json:"text"`
	ID     string        `json:"id"`
	Room   string        `json:"room,omitempty"` // if several were searched
}

// vectorTime is how long a search waits for the vector of its query.
const vectorTime = 5 * time.Second

func memorySearch(ctx context.Context, m *memoryCall) error {
	query, err := m.one("search", "QUERY, or -query", m.query)
	if err != nil {
		return err
	}
	if m.n < 1 || m.n > memory.MaxHits {
		return &cli.UsageError{Text: fmt.Sprintf("-n takes a number from 1 to %d", memory.MaxHits)}
	}
	var rooms []string
	switch m.scope {
	case "room", "chat":
		room, err := m.chosen()
		if err != nil {
			return err
		}
		rooms = []string{room}
	case "all":
		if rooms, err = memory.Rooms(ctx, m.dir); err != nil {
			return err
		}
	default:
		return &cli.UsageError{Text: fmt.Sprintf("-scope is %q; expected room or all", clean.Short(m.scope, 80))}
	}
	memories, err := OpenMemory(m.cfg, nil, nil, zerolog.Nop())
	if err != nil {
		return err
	}
	if kind, ok := recall.KindOf(m.kind); ok {
		m.kind = string(kind)
	}
	vector := memories.Vector(ctx, vectorTime, m.room, query)
	hits := []memoryHit{}
	for _, room := range rooms {
		if !m.knows(room) {
			continue
		}
		err := m.with(ctx, room, func(x *memory.Index) error {
			found, err := x.Search(ctx, memory.Query{Text: query, Vector: vector, Max: m.n, Kind: m.kind, Min: m.least})
			for _, h := range found {
				hit := memoryHit{h.Score, h.Source, h.Path, h.From, h.To, nil, h.Text, h.ID, ""}
				if !h.Time.IsZero() {
					hit.Time = &h.Time
				}
				if m.scope == "all" {
					hit.Room = room
				}
				hits = append(hits, hit)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	slices.SortStableFunc(hits, func(a, b memoryHit) int { return cmp.Compare(b.Score, a.Score) })
	hits = hits[:min(len(hits), m.n)]
	if m.json {
		return m.print(hits)
	}
	return m.show(hits)
}

// show prints results for people. Their text comes from others: it must not control the terminal.
func (m *memoryCall) show(hits []memoryHit) error {
	if len(hits) == 0 {
		fmt.Fprintln(m.app.Stdout, "Nothing found.")
		return nil
	}
	for _, h := range hits {
		at := ""
		if h.Time != nil {
			at = ", " + h.Time.Local().Format(cli.Minute)
		}
		room := ""
		if h.Room != "" {
			room = clean.Short(h.Room, 80) + ", "
		}
		fmt.Fprintf(m.app.Stdout, "%.2f  %s%s %s, lines %d–%d%s, ID %s\n", h.Score, room, h.Source, clean.Short(h.Path, 80),
			h.From, h.To, at, h.ID)
		for line := range strings.Lines(clean.Cut(clean.Text(h.Text), 2000)) {
			fmt.Fprintln(m.app.Stdout, "      "+strings.TrimRight(line, "\n"))
		}
	}
	return nil
}

func memoryAdd(ctx context.Context, m *memoryCall) error {
	text, err := m.one("add", "TEXT, or -text", m.text)
	if err != nil {
		return err
	}
	room, err := m.chosen()
	if err != nil {
		return err
	}
	if m.scope != "room" && m.scope != "chat" {
		return &cli.UsageError{Text: fmt.Sprintf("-scope is %q; expected room: a note belongs to one",
			clean.Short(m.scope, 80))}
	}
	kind, ok := recall.KindOf(cmp.Or(m.kind, "fact"))
	if !ok {
		return &cli.UsageError{Text: fmt.Sprintf("-kind is %q; expected fact, preference or decision",
			clean.Short(m.kind, 80))}
	}
	return m.record(ctx, func(memories *recall.Memory, _ *state.Journal) error {
		added, err := memories.Add(ctx, state.Note{Room: room, Kind: kind, Text: text})
		switch {
		case errors.Is(err, recall.ErrNotKept):
			return fmt.Errorf("nothing was added: the text looks like a secret, or like instructions for the agent: %w", err)
		case err != nil:
			return err
		case m.json:
			return m.print(map[string]any{"added": added, "kind": cmp.Or(m.kind, "fact")})
		case added:
			fmt.Fprintf(m.app.Stdout, "Added as a %s. After the room's next task it is also in MEMORY.md there.\n",
				cmp.Or(m.kind, "fact"))
		default:
			fmt.Fprintln(m.app.Stdout, "This is remembered already.")
		}
		return nil
	})
}

// memoryForget removes something from the record and the index. The bot's state.json, transcripts and containers are
// its own: only `!memory forget` in the room reaches them.
func memoryForget(ctx context.Context, m *memoryCall) error {
	what, err := m.one("forget", "ID, or -text", m.text)
	if err != nil {
		return err
	}
	room, err := m.chosen()
	if err != nil {
		return err
	}
	return m.record(ctx, func(memories *recall.Memory, journal *state.Journal) error {
		texts, events, err := memories.Meant(ctx, room, what)
		if err != nil {
			return err
		}
		if len(texts) == 0 && len(events) > 0 {
			return sentence.Newf(recall.ErrTooShort, "This is a message of a few letters: send `!memory forget %s` in the room.",
				clean.Short(what, 80))
		}
		if err := memories.Doubt(ctx, room); err != nil {
			return err
		}
		scrub := scrub.Without(texts...)
		out, err := journal.Removal.Scrub(ctx, room, room, scrub)
		if err != nil {
			return err
		}
		n, err := memories.Unlearn(ctx, room, scrub)
		switch n = max(n, len(out.Texts)); {
		case err != nil:
			return err
		case n == 0 && !out.Found:
			return sentence.New(memory.ErrNotFound, "No entry in the memory of this room contains this text, or has this ID.")
		case m.json:
			return m.print(map[string]int{"forgotten": n})
		}
		fmt.Fprintf(m.app.Stdout, "Forgotten: %s. History, transcript and session may still have it: send `!memory forget` "+
			"in the room to remove it there, too.\n", cli.CountOf(n, "entry", "entries"))
		return nil
	})
}
