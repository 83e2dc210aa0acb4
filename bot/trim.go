package bot

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"matrix-tui/state/retry"
)

const (
	// trimLook is how often the bot looks whether it has memory to give back.
	trimLook = 5 * time.Second
	// trimWorth is how much it must have allocated since the last time, in bytes: collecting garbage takes about 20 ms.
	trimWorth = 4 << 20
	// trimQuiet is how much it allocates at most between two looks, in bytes, while it only waits for events.
	trimQuiet = 256 << 10
)

// trimmer decides when to give memory back to the host: once, when work has ended. Go's runtime does that by itself, but
// only slowly, and it keeps what the next collection would free.
type trimmer struct{ trimmed, seen uint64 } // bytes allocated since the process began: when memory was given back, and at the last look

// due takes the bytes allocated since the process began.
func (t *trimmer) due(allocated uint64) bool {
	quiet := allocated-t.seen <= trimQuiet
	t.seen = allocated
	if !quiet || allocated-t.trimmed < trimWorth {
		return false
	}
	t.trimmed = allocated
	return true
}

// trimMemory gives memory back to the host when there is nothing to do, until ctx ends.
func (b *Bot) trimMemory(ctx context.Context) {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	for t := new(trimmer); retry.Sleep(ctx, trimLook) == nil; {
		if metrics.Read(sample); t.due(sample[0].Value.Uint64()) {
			debug.FreeOSMemory()
		}
	}
}
