package state

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// notState lists entries of a state folder that belong to this host and are neither copied nor backed up: sockets,
// locks, pending files and snapshots are recreated, and the rest are the releases, if they share a folder with
// STATE_DIR.
var notState = []string{
	"gateway", "tmp", "lock", "control.sock",
	"boxinit", // containers have its files open; missing ones are made again
	"releases", "current", "good", "state-before", "state-failed", "trial", "cache", "update.json", "update.log",
	"watch.lock",
	"journal.db.snapshot", "journal.db.snapshot-old", "journal.db.snapshot.tmp",
	"memory.db", "memory.db-wal", "memory.db-shm", "memory.db.lock", "memory.db.damaged", // a cache
}

// Walk visits the files of the state, each folder before its contents; "." is the state folder itself. It skips what
// disappears meanwhile. Databases in use are copied with Snapshot; their sidecars are skipped.
func Walk(dir string, visit func(name string, d fs.DirEntry) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(dir, path)
		switch {
		case err != nil && name != "." && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || relErr != nil:
			return errors.Join(err, relErr)
		case slices.Contains(notState, name) && d.IsDir():
			return filepath.SkipDir
		case slices.Contains(notState, name):
			return nil
		}
		if err := visit(name, d); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// IsSidecar reports whether SQLite keeps this file next to an open database.
func IsSidecar(name string) bool {
	return strings.HasSuffix(name, ".db-wal") || strings.HasSuffix(name, ".db-shm") ||
		strings.HasSuffix(name, ".db-journal")
}
