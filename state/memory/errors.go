package memory

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"

	"matrix-tui/state/damage"
	"matrix-tui/state/sentence"
	"matrix-tui/state/sqlitefile"
)

// ErrNotFound means that the index has no such entry.
var ErrNotFound = errors.New("not in the memory")

// ErrFull means that the index would grow beyond MaxIndex.
var ErrFull = errors.New("memory is full")

// ErrLocked means that another program keeps the index locked.
var ErrLocked = errors.New("memory is locked")

// ErrCut means that a model has got a request for embeddings, and that its answer did not arrive, or cannot be used.
var ErrCut = errors.New("the answer was cut")

// ErrRefused means that a model makes no embedding of a text.
var ErrRefused = errors.New("the model refuses the text")

// isLocked reports whether another connection has locked the file.
func isLocked(err error) bool {
	code := sqlitefile.Code(err)
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
}

// explain adds the operator's sentence to an error that involves an index.
func explain(err error, path string) error {
	if _, known := sentence.Of(err); known || err == nil {
		return err
	}
	code := sqlitefile.Code(err)
	switch {
	case code == sqlite3.SQLITE_FULL && !errors.Is(err, syscall.ENOSPC):
		return sentence.Newf(fmt.Errorf("%w: %w", ErrFull, err), "The memory of this room is full (%d MiB in %s), or the disk is: forget imports, or free some space. Nothing was changed.", MaxIndex>>20, path)
	case isLocked(err):
		return sentence.Newf(fmt.Errorf("%w: %w", ErrLocked, err), "Another program keeps %s locked: try again, or stop it.", path)
	case damage.Is(err):
		return sentence.Newf(err, "%s is damaged: run `matrix-tui memory reindex`, which saves what can be read.", path)
	case errors.Is(err, syscall.ENOSPC):
		return sentence.Newf(err, "There is no space left in %s: free some space.", filepath.Dir(path))
	case errors.Is(err, syscall.EACCES), code == sqlite3.SQLITE_CANTOPEN, code == sqlite3.SQLITE_READONLY:
		return sentence.Newf(err, "%s cannot be opened: run this as the bot's user, or set STATE_DIR to another folder.", path)
	}
	return err
}
