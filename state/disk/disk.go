// Package disk has what the files of the state share: folders that are on the disk, JSON, bounds of texts, and
// sentences for errors that an operator can fix.
package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"matrix-tui/state/clean"
	"matrix-tui/state/damage"
	"matrix-tui/state/sentence"
	"matrix-tui/state/sqlitefile"
)

// Clip cuts text to at most limit bytes, between characters, and says how much is missing. Bytes that are not UTF-8
// become U+FFFD.
func Clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	const room = 48 // for the mark
	kept := clean.Clip(text, max(0, limit-room))
	return fmt.Sprintf("%s\n[… %d bytes left out]", kept, len(text)-len(kept))
}

// JSON is json.Marshal without the escaping meant for web pages. The values passed here always encode.
func JSON(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// SyncDir makes the names in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

// MakeDir creates dir with mode 0700 if it is missing. An existing directory keeps its mode: it is the operator's.
func MakeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return explainIn(fmt.Errorf("create state directory: %w", err), dir, dir)
	}
	return nil
}

// Explain adds the operator's sentence to an error from the file system or from SQLite that involves path. Other errors
// are returned unchanged.
func Explain(err error, path string) error {
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
		return fmt.Sprintf("%s cannot be opened: let the bot's user read and write it, or set STATE_DIR to another folder.",
			path)
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
