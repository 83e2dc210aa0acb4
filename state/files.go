package state

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// notState are entries of a state folder that belong to this host and are neither
// copied nor backed up: sockets, locks and files on their way are made anew, and the
// rest are the releases, where STATE_DIR and their folder are one.
var notState = []string{
	"gateway", "tmp", "lock", "control.sock",
	"releases", "current", "good", "state-before", "state-failed", "trial", "cache", "update.json", "update.log", "watch.lock",
}

// TranscriptFolder is the folder of the files that only ever grow.
const TranscriptFolder = "transcripts"

// Walk visits what belongs to the state, folders before what is in them; "." is the
// state folder itself. What vanishes meanwhile is left out. Databases that are in
// use are copied with Snapshot, and their sidecars are not.
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

// IsDatabase tells the files that SQLite writes.
func IsDatabase(name string) bool { return strings.HasSuffix(name, ".db") }

// IsSidecar tells the files that SQLite keeps beside an open database.
func IsSidecar(name string) bool {
	return strings.HasSuffix(name, ".db-wal") || strings.HasSuffix(name, ".db-shm") || strings.HasSuffix(name, ".db-journal")
}
