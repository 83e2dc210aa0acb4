package memory

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/google/renameio/v2"

	"matrix-tui/bot/crash"
)

// maxSidecar bounds what is read of a list of forgotten texts, in bytes: a line each.
const maxSidecar = 8 << 20

// ForgottenExt is how the names of these files end.
const ForgottenExt = ".forgotten"

// IsKnown reports whether a room has an index, or has had one from which something was forgotten.
func IsKnown(dir, room string) bool { return Exists(dir, room) || exists(sidecar(Path(dir, room))) }

// sidecar is the file that lists what a room has forgotten, as hashes. The index knows it,
// too; the file is for a new index, which is filled from transcripts that still have the text.
func sidecar(path string) string { return strings.TrimSuffix(path, ".db") + ForgottenExt }

// LoadForgotten returns what a room has forgotten, without its index, and what it is still to forget: see Postpone.
func LoadForgotten(dir, room string) (Forgotten, error) {
	path, all := Path(dir, room), Forgotten{}
	hashes, err := readSidecar(path)
	for _, hash := range hashes {
		all[string(hash)] = true
	}
	events, failed := postponed(path)
	for _, event := range events {
		all[string(eventHash(event))] = true
	}
	return all, errors.Join(err, failed)
}

// saveForgotten writes the list of what was forgotten.
func (x *Index) saveForgotten(ctx context.Context) error {
	hashes, err := column[[]byte](ctx, x.db, "SELECT hash FROM forgotten ORDER BY hash")
	if err != nil {
		return fmt.Errorf("read what was forgotten: %w", err)
	}
	var list bytes.Buffer
	for _, hash := range hashes {
		list.WriteString(hex.EncodeToString(hash) + "\n")
	}
	crash.Count("write list of forgotten texts")
	if err := renameio.WriteFile(sidecar(x.path), list.Bytes(), 0o600); err != nil {
		return fmt.Errorf("list what was forgotten: %w", err)
	}
	return nil
}

// keepForgotten writes the list if an index lacks it, for example after a move, a restore or a crash.
func (x *Index) keepForgotten(ctx context.Context) error {
	var n, size int64
	if err := x.db.QueryRowContext(ctx, "SELECT count(*) FROM forgotten").Scan(&n); err != nil {
		return err
	}
	if info, err := os.Stat(sidecar(x.path)); err == nil {
		size = info.Size()
	}
	if size == n*int64(2*len(hashOf(""))+1) {
		return nil
	}
	return x.saveForgotten(ctx)
}

// loadForgotten stores the list in a new index.
func (x *Index) loadForgotten(ctx context.Context, tx *sql.Tx) error {
	hashes, err := readSidecar(x.path)
	if err != nil {
		return err
	}
	w := newWriter(ctx, tx)
	for _, hash := range hashes {
		if err := w.forget(hash); err != nil {
			return err
		}
	}
	return nil
}

// readSidecar returns the hashes in the list of an index, or none if there is no list.
func readSidecar(path string) (hashes [][]byte, err error) {
	file, err := os.Open(sidecar(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was forgotten: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(io.LimitReader(file, maxSidecar))
	for lines.Scan() {
		if hash, err := hex.DecodeString(lines.Text()); err == nil && len(hash) == len(hashOf("")) {
			hashes = append(hashes, hash)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read what was forgotten: %w", err)
	}
	return hashes, nil
}
