package memory

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"time"

	"matrix-tui/state/clean"
	"matrix-tui/state/sentence"
)

const (
	maxNotes = 1000     // of one kind
	maxNote  = 16 << 10 // bytes of a note
)

var kindRule = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Add stores a note of a kind, such as "fact" or "preference", for good: reindexing keeps it. It reports false if the
// note is there already. A note that was forgotten may be added again.
func (x *Index) Add(ctx context.Context, kind, text string) (added bool, err error) {
	if !kindRule.MatchString(kind) {
		return false, sentence.Newf(fmt.Errorf("kind %q: not a word", kind), "A kind is a word such as fact or preference, not %q.", clean.Line(kind, 80))
	}
	if plain(text) == "" || len(text) > maxNote {
		return false, sentence.Newf(fmt.Errorf("note of %d bytes", len(text)), "A note has 1 to %d bytes.", maxNote)
	}
	err = x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		if _, err := w.exec("DELETE FROM forgotten WHERE hash = ?", hashOf(text)); err != nil {
			return err
		}
		entries, err := w.entries("SELECT first, last, entry.time, speaker, text, event FROM entry JOIN document ON document.id = entry.document WHERE source = ? AND path = ? ORDER BY entry.id", SourceNote, kind)
		if err != nil {
			return err
		}
		line := 1
		for i, e := range entries {
			entries[i].Alone = true
			line = max(line, e.To+1)
			if string(hashOf(e.Text)) == string(hashOf(text)) {
				return nil
			}
		}
		entries = append(entries, Entry{From: line, To: line, Time: time.Now().UTC(), Text: text, Alone: true})
		if len(entries) > maxNotes {
			entries = entries[len(entries)-maxNotes:]
		}
		added, err = w.put(&Document{Source: SourceNote, Path: kind, Entries: entries, Origin: kind})
		if err != nil {
			return err
		}
		return w.finish()
	})
	if err == nil && exists(sidecar(x.path)) {
		err = x.saveForgotten(ctx)
	}
	return added, x.failed("add note", err)
}
