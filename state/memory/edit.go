package memory

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"matrix-tui/state/clean"
)

// Edit is what a message says now, and what follows from it.
type Edit struct {
	Event, Text string
	// Amend returns how a text outside of the conversation should be now that comes from the message (own), or from
	// another one of the same conversation; "" removes it. The source of a line is that of its file.
	Amend func(source Source, text string, own bool) string
	// Docs and Lines are what the new text teaches.
	Docs  []Document
	Lines []Line
}

// Said returns what a message says, and when, as far as the conversations in the memory have it. It reports whether the
// memory has anything from the message.
func (x *Index) Said(ctx context.Context, event string) (text string, at time.Time, found bool, err error) {
	if event == "" {
		return "", at, false, nil
	}
	err = x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		said, err := w.said(event)
		for i, e := range said {
			if i == 0 {
				text, at = e.Text, e.Time
				continue
			}
			text += "\n" + e.Text
		}
		if err != nil || len(said) > 0 {
			found = len(said) > 0
			return err
		}
		all, err := numbers(ctx, tx, "SELECT id FROM entry WHERE event = ? LIMIT 1", event)
		found = len(all) > 0
		return err
	})
	return text, at, found, x.failed("read message", err)
}

// said returns the entries of a message in conversations: a long text is in several.
func (w *writer) said(event string) ([]Entry, error) {
	return w.entries("SELECT first, last, entry.time, speaker, text, event FROM entry JOIN document ON document.id = entry.document WHERE event = ? AND source = ? ORDER BY entry.id", event, SourceTranscript)
}

// Edit replaces what a message said, amends what comes from it, and adds what its new text teaches. What that no longer
// says stays forgotten as after Redact; what it says is welcome, even if it was forgotten. It reports whether the message
// is in the memory. An edit that was made already changes nothing.
func (x *Index) Edit(ctx context.Context, e Edit) (found bool, err error) {
	if e.Event == "" {
		return false, nil
	}
	e.Text = strings.TrimSpace(clean.Text(e.Text))
	changed := false
	err = x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		units, err := numbers(ctx, tx, "SELECT DISTINCT unit FROM entry JOIN chunk ON chunk.id = entry.chunk WHERE event = ? ORDER BY unit", e.Event)
		if err != nil {
			return err
		}
		said, err := w.said(e.Event)
		if found = len(units) > 0; err != nil || !found || sameText(said, e.Text) {
			return err
		}
		changed = true
		return (&editor{writer: w, Edit: e}).run()
	})
	if err == nil && changed {
		err = x.saveForgotten(ctx)
	}
	return found, x.failed("edit message", err)
}

// sameText reports whether the entries of a message are this text.
func sameText(said []Entry, text string) bool {
	var parts []string
	for _, e := range said {
		parts = append(parts, e.Text)
	}
	return len(parts) > 0 && slices.Equal(parts, split(text))
}

// editor makes one edit.
type editor struct {
	*writer
	Edit
	old []string // what is no longer said
}

func (d *editor) run() error {
	events, err := texts(d.ctx, d.tx, `SELECT DISTINCT event FROM entry WHERE event <> '' AND document IN
		(SELECT document FROM entry JOIN document ON document.id = entry.document WHERE event = ? AND source = ?)`, d.Event, SourceTranscript)
	if err != nil {
		return err
	}
	if events = append(events, d.Event); d.Amend == nil {
		d.Amend = func(_ Source, text string, own bool) string {
			if own {
				return ""
			}
			return text
		}
	}
	if err := d.welcome(d.Event, d.Text); err != nil {
		return err
	}
	for _, event := range slices.Compact(slices.Sorted(slices.Values(events))) {
		if err := d.amendEntries(event); err != nil {
			return err
		}
	}
	if err := d.amendLines(events); err != nil {
		return err
	}
	if err := d.welcomeAll(d.Docs, d.Lines); err != nil {
		return err
	}
	for i := range d.Docs {
		if _, err := d.put(&d.Docs[i]); err != nil {
			return err
		}
	}
	if err := d.addLines(d.Lines); err != nil {
		return err
	}
	if err := d.forgetSaid("", d.old); err != nil {
		return err
	}
	return d.finishRemoval()
}

// amendEntries changes what comes from a message of the conversation.
func (d *editor) amendEntries(event string) error {
	own, first := event == d.Event, true
	units, err := numbers(d.ctx, d.tx, "SELECT DISTINCT unit FROM entry JOIN chunk ON chunk.id = entry.chunk WHERE event = ? ORDER BY unit", event)
	if err != nil {
		return err
	}
	for _, unit := range units {
		sources, err := texts(d.ctx, d.tx, "SELECT source FROM document JOIN unit ON unit.document = document.id WHERE unit.id = ?", unit)
		if err != nil {
			return err
		}
		if len(sources) == 0 || Source(sources[0]).conversation() && !own {
			continue
		}
		amend := func(text string) string { return d.Amend(Source(sources[0]), text, own) }
		if Source(sources[0]).conversation() {
			amend = func(string) string {
				if !first {
					return ""
				}
				first = false
				return d.Text
			}
		}
		if err := d.amendUnit(unit, event, amend); err != nil {
			return err
		}
	}
	return nil
}

// amendUnit changes what comes from a message in a unit, if anything is to be changed.
func (d *editor) amendUnit(unit int64, event string, amend func(string) string) error {
	said, err := texts(d.ctx, d.tx, "SELECT text FROM entry JOIN chunk ON chunk.id = entry.chunk WHERE unit = ? AND event = ? ORDER BY entry.id", unit, event)
	if err != nil {
		return err
	}
	now, changed := make([]string, len(said)), false
	for i, text := range said {
		now[i] = amend(text)
		if now[i] == text {
			continue
		}
		changed = true
		d.old = append(d.old, text)
		if err := d.welcome(event, now[i]); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	return d.change(unit, func(e *Entry) bool {
		if e.Event == event {
			e.Text, now = now[0], now[1:]
		}
		return e.Text != ""
	})
}

// amendLines changes the lines that come from the conversation. The files follow later.
func (d *editor) amendLines(events []string) error {
	lines, err := d.linesOf(events...)
	if err != nil {
		return err
	}
	gone := map[int64]bool{}
	copies := map[string]bool{}
	var added []Line
	for _, l := range lines {
		source, _ := SourceOf(l.Path)
		text := d.Amend(source, l.Text, slices.Contains(strings.Fields(l.Event), d.Event))
		if text == l.Text || l.Gone {
			continue
		}
		gone[l.ID], copies[string(hashOf(l.Text))] = true, true
		d.old = append(d.old, l.Text)
		if l.Text = text; text != "" {
			added = append(added, l)
		}
	}
	if err := d.dropCopies(copies); err != nil {
		return err
	}
	if err := d.dropLines(func(l Line) bool { return gone[l.ID] }); err != nil {
		return err
	}
	if err := d.welcomeAll(nil, added); err != nil {
		return err
	}
	return d.addLines(added)
}
