package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/rooms"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/state/clean"
	"matrix-tui/state/sentence"
)

// checkLeft reports what is kept of rooms that the bot has left.
func checkLeft(ctx context.Context, cfg *settings.Config) finding {
	uri := cli.PodmanURI(cfg)
	if checkSocket(uri).bad {
		return skipped("left rooms cannot be listed without podman")
	}
	podman, err := sandbox.Connect(ctx, uri, zerolog.Nop())
	if err != nil {
		return skipped("left rooms: %s", sentence.Text(err))
	}
	defer podman.Close()
	left, err := rooms.LeftRooms(ctx, cfg, podman, checkTime/2)
	if err != nil {
		return skipped("left rooms: %s", sentence.Text(err))
	}
	return good("left rooms: %s", sayLeft(left))
}

// namedLeft is how many of the rooms that the bot has left doctor names: those that take the most space.
const namedLeft = 3

func sayLeft(left []rooms.LeftRoom) string {
	if len(left) == 0 {
		return "nothing is kept of any"
	}
	var bytes int64
	for _, l := range left {
		bytes = max(-1, bytes+l.Bytes)
	}
	largest := slices.SortedFunc(slices.Values(left),
		func(a, b rooms.LeftRoom) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var names []string
	for _, l := range largest[:min(namedLeft, len(largest))] {
		names = append(names, fmt.Sprintf("%s (%s)", clean.Short(l.Room, 80), l.Space()))
	}
	if n := len(left) - len(names); n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return fmt.Sprintf("%d use %s: %s. `matrix-tui rooms` lists them, `matrix-tui rooms -remove-left` removes what is "+
		"kept of them", len(left), rooms.LeftRoom{Bytes: bytes}.Space(), strings.Join(names, ", "))
}
