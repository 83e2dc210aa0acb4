package state

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"matrix-tui/state/damage"
	"matrix-tui/state/sentence"
	"matrix-tui/state/sqlitefile"
)

// ErrNotFound means that the journal has no such event, task or message.
var ErrNotFound = errors.New("not in the journal")

// ErrFinished means that an event is already decided, or that a task is in a state that does not allow the step.
var ErrFinished = errors.New("already decided or answered")

// ErrTwice means that a message is another event already.
var ErrTwice = errors.New("the message is another event already")

// ErrLocked means that another process uses the same state directory.
var ErrLocked = errors.New("state directory is in use")

// ErrNewer means that a file was written by a newer release than this one.
var ErrNewer = errors.New("written by a newer release")

// ErrOlder means that a file was written by an older release and cannot be read until this release's bot has opened it.
var ErrOlder = errors.New("written by an older release")

// explain adds the operator's sentence to an error from the file system or from SQLite that involves path. Other errors
// are returned unchanged.
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
	code := sqlitefile.Code(err)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), code == sqlite3.SQLITE_FULL, noRoomToShare(err):
		return fmt.Sprintf("There is no space left in %s: free some space. Nothing that was saved before is lost.", dir)
	case errors.Is(err, syscall.EROFS), code == sqlite3.SQLITE_READONLY:
		return fmt.Sprintf("%s is read-only: make it writable, or set STATE_DIR to a folder that is.", dir)
	case errors.Is(err, fs.ErrPermission), code == sqlite3.SQLITE_PERM, code == sqlite3.SQLITE_CANTOPEN:
		return fmt.Sprintf("%s cannot be opened: let the bot's user read and write it, or set STATE_DIR to another folder.", path)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Sprintf("%s is not a folder: set STATE_DIR to one.", dir)
	case errors.Is(err, syscall.EISDIR):
		return fmt.Sprintf("%s is a folder where a file should be: move it away.", path)
	case errors.Is(err, syscall.EIO), code == sqlite3.SQLITE_IOERR:
		return fmt.Sprintf("The disk under %s has read or write errors: see the kernel's log.", dir)
	case damage.Is(err):
		return fmt.Sprintf("%s is damaged: restart the bot, which restores a snapshot and keeps the damaged file.", path)
	case code == sqlite3.SQLITE_BUSY:
		return fmt.Sprintf("Another program is using %s: stop it.", path)
	}
	return ""
}

// noRoomToShare reports whether SQLite could not extend the file that its readers and writers share. SQLite does not
// give the reason; it is a full disk.
func noRoomToShare(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE
}
