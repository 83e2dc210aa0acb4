package state

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"time"

	"matrix-tui/state/scrub"
)

// maxForgotten bounds the hashes of a room: the oldest go first.
const maxForgotten = 10_000

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(scrub.Plain(text)))
	return hex.EncodeToString(sum[:16])
}

// Forgotten is what a room has forgotten, as hashes.
type Forgotten map[string]bool

// Has reports whether a text was forgotten.
func (f Forgotten) Has(text string) bool { return len(f) > 0 && f[hashOf(text)] }

// Forgotten returns what a room has forgotten.
func (j *Memory) Forgotten(ctx context.Context, room string) (Forgotten, error) {
	hashes, err := list(
		ctx,
		j.core,
		"read what was forgotten",
		scanText,
		"SELECT hash FROM forgotten WHERE room = ?",
		room,
	)
	all := make(Forgotten, len(hashes))
	for _, hash := range hashes {
		all[hash] = true
	}
	return all, err
}

// KeepForgotten keeps hashes of texts that a room must not learn again.
func (j *Memory) KeepForgotten(ctx context.Context, room string, texts ...string) error {
	return j.change(ctx, "keep what was forgotten", func(tx *sql.Tx) error { return forget(ctx, tx, room, texts...) })
}

// MarkUntidy records that a container of the room may have what is to be forgotten, also if nothing else has it: see
// Untidy.
func (j *Memory) MarkUntidy(ctx context.Context, room string) error {
	return j.failed("note what is to be removed", markUntidy(ctx, j.db, room))
}

func forget(ctx context.Context, tx *sql.Tx, room string, texts ...string) error {
	kept := 0
	for _, text := range texts {
		if scrub.Plain(text) == "" {
			continue
		}
		kept++
		_, err := tx.ExecContext(ctx, "INSERT INTO forgotten (room, hash, time) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			room, hashOf(text), time.Now().UnixNano())
		if err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM forgotten WHERE seq IN (SELECT seq FROM forgotten WHERE room = ? ORDER "+
		"BY seq DESC LIMIT -1 OFFSET ?)", room, maxForgotten)
	if err != nil || kept == 0 {
		return err
	}
	return markStale(ctx, tx)
}

// Welcome lets texts be known again, because people have said them again.
func (j *Memory) Welcome(ctx context.Context, room string, texts ...string) error {
	for _, text := range texts {
		err := j.exec(
			ctx,
			"welcome what is said again",
			"DELETE FROM forgotten WHERE room = ? AND hash = ?",
			room,
			hashOf(text),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

var errForgotten = errors.New("this was forgotten")

// welcome lets a note that people have stated be known again. What was only observed, or is only in a file, stays
// forgotten.
func welcome(ctx context.Context, tx *sql.Tx, n Note) error {
	if n.Source == Observed || n.Source == FromAgent && n.Quote == "" {
		gone, err := queryValue[bool](
			ctx,
			tx,
			"SELECT 1 FROM forgotten WHERE room = ? AND hash = ?",
			n.Room,
			hashOf(n.Text),
		)
		if gone {
			return errForgotten
		}
		return err
	}
	for _, text := range []string{n.Text, n.Line()} {
		if err := run(ctx, tx, "DELETE FROM forgotten WHERE room = ? AND hash = ?", n.Room,
			hashOf(text)); err != nil {
			return err
		}
	}
	return nil
}
