package doctor

import (
	"context"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state/damage"
	"matrix-tui/state/memory"
	"matrix-tui/state/sentence"
)

// checkIndex checks what the rooms remember. It changes nothing.
func checkIndex(ctx context.Context, cfg *settings.Config) Finding {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	h, err := memory.Examine(ctx, string(cfg.StateDir))
	off := ""
	if cfg.MemorySlot == settings.NoMemory {
		off = "off (SLOTS_MEMORY is none); what was learned before is kept: "
	}
	switch {
	case ctx.Err() != nil:
		return skipped("memory of rooms: not read in time")
	case damage.Is(err):
		return good("memory of rooms: the index is damaged; it is made again when a room needs it")
	case err != nil:
		return bad("memory of rooms: %s", sentence.Text(err))
	case h.Rooms == 0:
		return good("memory of rooms: %snothing is remembered yet", off)
	}
	return good("memory of rooms: %s%s, %s, last written %s", off, cli.CountOf(h.Rooms, "room", "rooms"),
		cli.SmallAmount(h.Bytes), h.Changed.Local().Format(cli.Minute))
}
