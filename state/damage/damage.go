// Package damage handles SQLite databases that are damaged: it recognises the errors,
// leaves a marker for the next start, and moves the files aside.
//
// It never opens a database, never deletes one, and does not know what is in it.
package damage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"matrix-tui/state/sqlitefile"
)

// Err means that a database is damaged although SQLite has no code for it.
var Err = errors.New("the database is damaged")

// Is reports whether an error says that a database file itself is damaged.
func Is(err error) bool {
	if errors.Is(err, Err) {
		return true
	}
	code := sqlitefile.Code(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// Check lets SQLite check a database. It reads the whole file: 60 ms for 36 MB.
func Check(ctx context.Context, db *sql.DB) error {
	var said string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said); err != nil {
		return err
	}
	if said != "ok" {
		return fmt.Errorf("%w: %s", Err, said)
	}
	return nil
}

// Unclean reports whether the last process that had a database open did not close it.
func Unclean(path string) bool {
	info, err := os.Stat(path + "-wal") // SQLite removes it when it closes the database
	return err == nil && info.Size() > 0
}

// Mark leaves a marker next to a database. Whoever opens the database next must not use
// it.
func Mark(path string, why error) error {
	if err := os.WriteFile(marker(path), []byte(why.Error()+"\n"), 0o600); err != nil {
		return fmt.Errorf("mark database as damaged: %w", err)
	}
	return syncFolder(path)
}

// Marked reports whether a database has a marker.
func Marked(path string) bool { return exists(marker(path)) }

func marker(path string) string { return path + ".damaged" }

// AsideName returns an unused name for a damaged file: <path>.corrupt-<time>.
func AsideName(path string) string {
	base := path + ".corrupt-" + time.Now().UTC().Format("20060102T150405Z")
	aside := base
	for i := 2; exists(aside) || exists(aside+"-wal"); i++ {
		aside = fmt.Sprintf("%s-%d", base, i)
	}
	return aside
}

// MoveAside renames a damaged database and its WAL to a name from AsideName, removes the
// shared memory file, which is useless without them, and then the marker. It may be
// repeated after a crash.
func MoveAside(path, aside string) error {
	for _, end := range []string{"-wal", ""} { // the WAL first: it must never meet another database
		if err := os.Rename(path+end, aside+end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("move damaged database aside: %w", err)
		}
	}
	for _, name := range []string{path + "-shm", marker(path)} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("move damaged database aside: %w", err)
		}
	}
	return syncFolder(path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
