package memory

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"

	"matrix-tui/state/damage"
	"matrix-tui/state/sentence"
	"matrix-tui/state/sqlitefile"
)

var (
	// ErrNotFound means that the memory of a room has no such entry.
	ErrNotFound = errors.New("not in the memory")
	// ErrFull means that the memory of a room would grow beyond its bounds.
	ErrFull = errors.New("memory is full")
	// ErrDoubt means that the record has changed since Open.
	ErrDoubt = errors.New("the record has changed")
	// ErrLocked means that another program keeps the file locked.
	ErrLocked = errors.New("memory is locked")
	// ErrCut means that a model got a request for embeddings, and that its answer did not arrive, or cannot be used.
	ErrCut = errors.New("the answer was cut")
	// ErrRefused means that a model makes no embedding of a text.
	ErrRefused = errors.New("the model refuses the text")
)

// isLocked reports whether another one has locked the file.
func isLocked(err error) bool {
	code := sqlitefile.Code(err)
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED || errors.Is(err, ErrLocked)
}

// isMissing reports whether an error says that a table or column is missing, which SQLite does not call damage.
func isMissing(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "no such table") ||
		strings.Contains(err.Error(), "no such column") || strings.Contains(err.Error(), "vtable constructor failed"))
}

// explain adds the operator's sentence to an error.
func explain(err error, path string) error {
	if _, known := sentence.Of(err); known || err == nil {
		return err
	}
	code := sqlitefile.Code(err)
	switch {
	case errors.Is(err, ErrFull):
		return sentence.Newf(err, "The memory of this room is full (%d MiB of text): forget imports.", MaxText>>20)
	case isLocked(err):
		return sentence.Newf(fmt.Errorf("%w: %w", ErrLocked, err),
			"Another program keeps %s locked: try again, or stop it.", path)
	case errors.Is(err, ErrDoubt):
		return sentence.Newf(err, "What this room remembers has just changed: try again.")
	case damage.Is(err):
		return sentence.Newf(err, "%s is damaged: it is made again when it is used next.", path)
	case errors.Is(err, syscall.ENOSPC), code == sqlite3.SQLITE_FULL:
		return sentence.Newf(err, "There is no space left in %s: free some space.", filepath.Dir(path))
	case errors.Is(err, syscall.EACCES), code == sqlite3.SQLITE_CANTOPEN, code == sqlite3.SQLITE_READONLY:
		return sentence.Newf(err, "%s cannot be opened: run this as the bot's user, or set STATE_DIR to another folder.",
			path)
	}
	return err
}
