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
	// trimWorth is how much it must have allocated since the last time, in bytes.
	trimWorth = 4 << 20
	// trimQuiet is how much it allocates at most between two looks, in bytes, while it only waits for events.
	trimQuiet = 256 << 10
)

// trimmer decides when to give memory back to the host: once, when work has ended. Go's runtime does that by itself,
// but only slowly, and it keeps what the next collection would free. It counts the bytes allocated since the process
// began.
type trimmer struct {
	trimmed uint64 // when memory was given back
	seen    uint64 // at the last look
}

// due is a look.
func (t *trimmer) due(allocated uint64) bool {
	quiet := allocated-t.seen <= trimQuiet
	t.seen = allocated
	if !quiet || allocated-t.trimmed < trimWorth {
		return false
	}
	t.trimmed = allocated
	return true
}

// trimMemory gives back what only the start needed, and then, until ctx ends, what work has needed.
func (b *Bot) trimMemory(ctx context.Context) {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	debug.FreeOSMemory()
	for t := (trimmer{trimmed: sample[0].Value.Uint64()}); retry.Sleep(ctx, trimLook) == nil; {
		if metrics.Read(sample); t.due(sample[0].Value.Uint64()) {
			debug.FreeOSMemory()
		}
	}
}
