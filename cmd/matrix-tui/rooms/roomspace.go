package rooms

import (
	"context"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/engine"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state"
)

// measureRooms adds the space that each room takes.
func measureRooms(ctx context.Context, cfg *settings.Config, lines []RoomLine) error {
	store, err := state.ReadStore(string(cfg.StateDir))
	if err != nil {
		return err
	}
	podman, err := engine.Connect(ctx, cfg, nil, zerolog.Nop())
	if err != nil {
		return err
	}
	defer podman.Close()
	used, err := podman.Usage(ctx)
	if err != nil {
		return err
	}
	fillSpace(lines, store, used)
	return nil
}

// fillSpace adds what the rooms use, by the rooms on the labels of containers and volumes; nil = the engine does not
// know. A room that replaces another one has that one's volumes.
func fillSpace(lines []RoomLine, store *state.Store, used map[string]int64) {
	for i := range lines {
		l := &lines[i]
		bytes := used[l.Room]
		if origin := store.VolumesOf(l.Room); origin != l.Room {
			bytes += used[origin]
		}
		if l.Space = cli.Amount(uint64(bytes)); used == nil {
			l.Space = "unknown"
		}
	}
}

// column is a cell of a column that is only there if it is shown.
func column(shown bool, text string) string {
	if !shown {
		return ""
	}
	return text + "\t"
}
