package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/damage"
	"matrix-tui/state/memory"
	"matrix-tui/state/sentence"
)

// maxNamed is how many damaged indexes a finding names.
const maxNamed = 3

// checkIndexes checks what the rooms remember. It changes nothing, and what it has not read when the time is over it
// leaves out.
func checkIndexes(ctx context.Context, cfg *settings.Config) finding {
	dir := string(cfg.StateDir)
	files, err := memory.Files(dir)
	switch {
	case err != nil:
		return bad("memory of rooms: %v; make the bot's user the owner of %s", settings.Reason(err), dir)
	case cfg.MemorySlot == settings.NoMemory && len(files) > 0:
		return good("memory of rooms: off (SLOTS_MEMORY is none); what %s learned before is kept", cli.CountOf(len(files), "room", "rooms"))
	case cfg.MemorySlot == settings.NoMemory:
		return good("memory of rooms: off (SLOTS_MEMORY is none)")
	case len(files) == 0:
		return good("memory of rooms: nothing is remembered yet")
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	var bytes int64
	var newest time.Time
	var broken []memory.Health
	read := 0
	for _, file := range files {
		h := memory.Examine(ctx, dir, file)
		if ctx.Err() != nil {
			break
		}
		read++
		bytes += h.Bytes
		if h.Changed.After(newest) {
			newest = h.Changed
		}
		if h.Err != nil {
			broken = append(broken, h)
		}
	}
	text := fmt.Sprintf("memory of rooms: %s, %s", cli.CountOf(len(files), "index", "indexes"), cli.SmallAmount(bytes))
	if read < len(files) {
		text = fmt.Sprintf("memory of rooms: %d of %d indexes read in %v, %s", read, len(files), checkTime, cli.SmallAmount(bytes))
	}
	if !newest.IsZero() {
		text += ", last written " + newest.Local().Format(cli.Minute)
	}
	if len(broken) == 0 {
		return good("%s", text)
	}
	return bad("%s; %s", text, brokenIndexes(dir, broken))
}

// brokenIndexes says which indexes cannot be used, and what to do.
func brokenIndexes(dir string, broken []memory.Health) string {
	var says []string
	rooms := map[string]string{} // by file, of those that cannot say it themselves
	if store, err := state.ReadStore(dir); err == nil {
		for _, room := range store.Rooms() {
			rooms[memory.Path(dir, room)] = room
		}
	}
	for _, h := range broken[:min(len(broken), maxNamed)] {
		room := clean.Short(cmp.Or(h.Room, rooms[h.File]), 80)
		switch {
		case errors.Is(h.Err, memory.ErrLocked):
			says = append(says, fmt.Sprintf("another program keeps %s locked: stop it, or try again", cmp.Or(room, h.File)))
		case !damage.Is(h.Err):
			says = append(says, fmt.Sprintf("%s: %s", cmp.Or(room, h.File), sentence.Text(h.Err)))
		case room == "":
			says = append(says, fmt.Sprintf("%s is damaged, and no room is known that it belongs to: move it away", h.File))
		default:
			says = append(says, fmt.Sprintf("%s is damaged: run `matrix-tui memory reindex -room '%s'`, which saves what can be read", room, room))
		}
	}
	if more := len(broken) - maxNamed; more > 0 {
		says = append(says, fmt.Sprintf("and %d more: run `matrix-tui memory reindex`", more))
	}
	return strings.Join(says, "; ")
}
