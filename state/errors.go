package state

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"matrix-tui/state/sentence"
)

// ErrNotFound says that there is no such event, task or message in the journal.
var ErrNotFound = errors.New("not in the journal")

// ErrFinished says that an event is decided, or that a task is not in a state from
// which the step can be made.
var ErrFinished = errors.New("already decided or answered")

// ErrLocked says that another process works on the same state directory.
var ErrLocked = errors.New("state directory is in use")

// ErrNewer says that a file was written by a newer release than this one.
var ErrNewer = errors.New("written by a newer release")

// ErrOlder says that a file was written by an older release and cannot be read
// before the bot of this one has opened it.
var ErrOlder = errors.New("written by an older release")

// explain adds the sentence for the operator to an error that came from the
// file system or from SQLite while path was in use. An error whose mend is not
// known comes back as it is.
func explain(err error, path string) error {
	return explainIn(err, filepath.Dir(path), path)
}

func explainIn(err error, dir, path string) error {
	if _, known := sentence.Of(err); known || err == nil {
		return err
	}
	if said := sentenceFor(err, dir, path); said != "" {
		return sentence.New(err, said)
	}
	return err
}

func sentenceFor(err error, dir, path string) string {
	code := sqliteCode(err)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), code == sqlite3.SQLITE_FULL, noRoomToShare(err):
		return fmt.Sprintf("There is no space left in %s: free some, nothing that was saved before is lost.", dir)
	case errors.Is(err, syscall.EROFS), code == sqlite3.SQLITE_READONLY:
		return fmt.Sprintf("%s is read-only: make it writable, or set STATE_DIR to a folder that is.", dir)
	case errors.Is(err, fs.ErrPermission), code == sqlite3.SQLITE_PERM, code == sqlite3.SQLITE_CANTOPEN:
		return fmt.Sprintf("%s cannot be opened: give the user of the bot the right to read and write it, or set STATE_DIR to another folder.", path)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Sprintf("%s is not a folder: set STATE_DIR to one.", dir)
	case errors.Is(err, syscall.EISDIR):
		return fmt.Sprintf("%s is a folder where a file should be: move it away.", path)
	case errors.Is(err, syscall.EIO), code == sqlite3.SQLITE_IOERR:
		return fmt.Sprintf("The disk under %s does not read or write: look at the kernel's log.", dir)
	case damaged(err):
		return fmt.Sprintf("%s is damaged: restart the bot, it moves the file aside and begins a new one.", path)
	case code == sqlite3.SQLITE_BUSY:
		return fmt.Sprintf("Another program holds %s: close it.", path)
	}
	return ""
}

// damaged reports whether SQLite says that the file itself is broken.
func damaged(err error) bool {
	code := sqliteCode(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// noRoomToShare reports whether SQLite could not make the file that its readers
// and writers share as long as it should be. It does not tell why; what keeps a
// file from growing is a full disk.
func noRoomToShare(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE
}

// sqliteCode is the primary result code of an error from SQLite, 0 for others.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}
