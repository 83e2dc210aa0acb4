package memory

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"matrix-tui/state/clean"
)

// Welcome lets documents and lines be stored again that were forgotten: a person has just said them. What comes from a
// message that was redacted stays forgotten.
func (x *Index) Welcome(ctx context.Context, docs []Document, lines []Line) error {
	var before, after int
	count := "SELECT count(*) FROM forgotten"
	err := x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		if err := tx.QueryRowContext(ctx, count).Scan(&before); err != nil || before == 0 {
			return err
		}
		if err := w.welcomeAll(docs, lines); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, count).Scan(&after)
	})
	if err == nil && after != before {
		err = x.saveForgotten(ctx)
	}
	return x.failed("remember again", err)
}

func (w *writer) welcomeAll(docs []Document, lines []Line) error {
	for _, doc := range docs {
		for _, e := range doc.Entries {
			if err := w.welcome(e.Event, e.Text); err != nil {
				return err
			}
		}
	}
	for _, l := range lines {
		if err := w.welcome(l.Event, l.Text); err != nil {
			return err
		}
	}
	return nil
}

// welcome makes a text welcome again, unless it comes from a message that was redacted.
func (w *writer) welcome(events, text string) error {
	var gone []bool
	for event := range strings.FieldsSeq(events) {
		found, err := column[[]byte](w.ctx, w.tx, "SELECT hash FROM forgotten WHERE hash = ?", eventHash(event))
		if err != nil {
			return err
		}
		gone = append(gone, len(found) > 0)
	}
	if text = strings.TrimSpace(clean.Text(text)); text == "" || slices.Contains(gone, true) {
		return nil
	}
	for _, part := range append(split(text), text) {
		for _, hash := range hashesOf(part) {
			if _, err := w.exec("DELETE FROM forgotten WHERE hash = ?", hash); err != nil {
				return err
			}
		}
	}
	return nil
}

// Replaced makes texts unwelcome in place of which their messages say something else by now: as after Redact, those that
// are short and those that other messages have said stay.
func (x *Index) Replaced(ctx context.Context, said ...string) error {
	if len(said) == 0 {
		return nil
	}
	err := x.inTx(ctx, func(tx *sql.Tx) error { return newWriter(ctx, tx).forgetSaid("", said) })
	if err == nil {
		err = x.saveForgotten(ctx)
	}
	return x.failed("forget what was replaced", err)
}
