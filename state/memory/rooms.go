package memory

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"

	"matrix-tui/state/damage"
	"matrix-tui/state/sqlitefile"
)

// Rooms lists the rooms that have an index in the state directory dir. An index that cannot be read is left out: Open
// knows its room, and repairs it.
func Rooms(dir string) ([]string, error) {
	files, err := Files(dir)
	if err != nil {
		return nil, explain(err, filepath.Join(dir, Folder))
	}
	var rooms []string
	for _, file := range files {
		room, err := roomOf(file)
		if err == nil && Path(dir, room) == file {
			rooms = append(rooms, room)
		} else if err != nil && !damage.Is(err) && !isMissing(err) && !errors.Is(err, errEmpty) {
			return nil, explain(fmt.Errorf("list memory: %w", err), file)
		}
	}
	slices.Sort(rooms)
	return rooms, nil
}

var errEmpty = errors.New("no room")

func roomOf(file string) (string, error) {
	db, err := sqlitefile.Open(file, url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(2000)"}})
	if err != nil {
		return "", err
	}
	defer db.Close()
	found, err := texts(context.Background(), db, "SELECT value FROM meta WHERE key = 'room'")
	if err == nil && len(found) == 0 {
		err = errEmpty
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}
