package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"matrix-tui/state/damage"
	"matrix-tui/state/retry"
	"matrix-tui/state/sqlitefile"
)

// creating is how long an index without content may be one that the bot is creating.
const creating = time.Second

// Health is what Examine finds out about an index.
type Health struct {
	File    string
	Room    string // "" if the index cannot be read
	Bytes   int64  // with the WAL
	Changed time.Time
	Err     error // ErrLocked, or why the next Open would repair it
}

// Files lists the files of all indexes in the state directory dir. A folder that is missing is no error.
func Files(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, Folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list memory: %w", err)
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".db") {
			files = append(files, filepath.Join(dir, Folder, e.Name()))
		}
	}
	return files, nil
}

// Examine checks one index of the state directory dir. It reads the whole file (60 ms for 36 MB), hardly waits for other
// processes (a second for one that seems to be creating it), and neither changes nor creates a file: Open repairs what is
// damaged.
func Examine(ctx context.Context, dir, file string) Health {
	h := Health{File: file}
	for _, name := range []string{file, file + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			h.Bytes += info.Size()
		}
	}
	if damage.Marked(file) {
		h.Err = fmt.Errorf("%w: the last run found that", damage.Err)
		return h
	}
	err := h.examine(ctx, dir)
	for begun := time.Now(); (isMissing(err) || errors.Is(err, errEmpty)) && time.Since(begun) < creating; { // the bot may be creating it
		if retry.Sleep(ctx, creating/4) != nil {
			break
		}
		err = h.examine(ctx, dir)
	}
	switch {
	case isMissing(err):
		err = fmt.Errorf("%w: %w", damage.Err, err)
	case errors.Is(err, errEmpty):
		err = fmt.Errorf("%w: it is empty", damage.Err)
	}
	h.Err = explain(err, file)
	return h
}

// examine reads the file.
func (h *Health) examine(ctx context.Context, dir string) error {
	still := !exists(h.File + "-wal")
	err := h.read(ctx, dir, still)
	if still && err != nil && exists(h.File+"-wal") { // somebody has opened it meanwhile
		err = h.read(ctx, dir, false)
	}
	return err
}

// read reads the file. An index that nobody has open is opened as one that does not change: SQLite would create
// files next to it otherwise.
func (h *Health) read(ctx context.Context, dir string, still bool) error {
	if info, err := os.Lstat(h.File); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, errors.New("not a regular file"))
	}
	params := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(300)", "query_only(1)"}}
	if still {
		params.Set("immutable", "1")
	}
	db, err := sqlitefile.Open(h.File, params)
	if err != nil {
		return err
	}
	defer db.Close()
	rooms, err := texts(ctx, db, "SELECT value FROM meta WHERE key = 'room'")
	if err != nil {
		return err
	}
	if len(rooms) == 0 {
		return errEmpty
	}
	if Path(dir, rooms[0]) != h.File {
		return fmt.Errorf("%w: it is not the index of this room", damage.Err)
	}
	h.Room = rooms[0]
	var changed int64
	if err := db.QueryRowContext(ctx, "SELECT ifnull(max(time), 0) FROM document").Scan(&changed); err != nil {
		return err
	}
	h.Changed = timeOf(changed)
	return damage.Check(ctx, db)
}
