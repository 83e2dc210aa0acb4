package memory

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"slices"
	"strings"
	"time"

	"matrix-tui/state/clean"
)

// maxGiven bounds what is known of the results that sessions were given: the oldest are dropped.
const maxGiven = 2000

// Give records that a session of the agent has been given results, by their IDs.
func (x *Index) Give(ctx context.Context, session string, ids []string) error {
	if len(ids) == 0 || session == "" {
		return nil
	}
	err := x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		for _, id := range ids {
			if _, err := w.exec("INSERT INTO given (session, key) VALUES (?, ?) ON CONFLICT DO NOTHING", session, id); err != nil {
				return err
			}
		}
		_, err := w.exec("DELETE FROM given WHERE id <= (SELECT max(id) FROM given) - ?", maxGiven)
		return err
	})
	return x.failed("note what was given", err)
}

// Given returns the IDs of the results that a session was given.
func (x *Index) Given(ctx context.Context, session string) (map[string]bool, error) {
	ids, err := texts(ctx, x.db, "SELECT key FROM given WHERE session = ?", session)
	all := map[string]bool{}
	for _, id := range ids {
		all[id] = true
	}
	return all, x.failed("read what was given", err)
}

// Forgotten is what must not come back, as hashes.
type Forgotten map[string]bool

// Text reports whether a text was forgotten, or a part of a long text.
func (f Forgotten) Text(text string) bool {
	if len(f) == 0 {
		return false
	}
	if f[string(hashOf(text))] {
		return true
	}
	parts := split(strings.TrimSpace(clean.Text(text)))
	return len(parts) > 1 && slices.ContainsFunc(parts, func(part string) bool { return f[string(hashOf(part))] })
}

// Sum changes with what was forgotten.
func (f Forgotten) Sum() string {
	sum := make([]byte, len(hashOf("")))
	for hash := range f {
		subtle.XORBytes(sum, sum, []byte(hash))
	}
	return string(sum)
}

// Event reports whether a message was redacted.
func (f Forgotten) Event(event string) bool { return event != "" && f[string(eventHash(event))] }

// Forgotten returns what was forgotten, and what is still to be: see Postpone.
func (x *Index) Forgotten(ctx context.Context) (Forgotten, error) {
	hashes, err := column[[]byte](ctx, x.db, "SELECT hash FROM forgotten")
	all := Forgotten{}
	for _, hash := range hashes {
		all[string(hash)] = true
	}
	for event := range x.hidden.events {
		all[string(eventHash(event))] = true
	}
	return all, x.failed("read what was forgotten", err)
}

// Has reports whether there is a document.
func (x *Index) Has(ctx context.Context, source Source, path string) (bool, error) {
	ids, err := numbers(ctx, x.db, "SELECT id FROM document WHERE source = ? AND path = ?", source, path)
	return len(ids) > 0, x.failed("look up document", err)
}

// Paths lists the documents of a source.
func (x *Index) Paths(ctx context.Context, source Source) (map[string]bool, error) {
	paths, err := texts(ctx, x.db, "SELECT path FROM document WHERE source = ?", source)
	all := map[string]bool{}
	for _, path := range paths {
		all[path] = true
	}
	return all, x.failed("list documents", err)
}

// forget makes a text with this hash unwelcome.
func (w *writer) forget(hash []byte) error {
	_, err := w.exec("INSERT INTO forgotten (hash, time) VALUES (?, ?) ON CONFLICT DO NOTHING", hash, time.Now().UnixNano())
	return err
}
