package bot

import (
	"context"
	"time"

	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// orphanTime is how long a homeserver may take for a request whose sender has died. Dendrite v0.15.2 goes on with it, forgets
// its transaction ID, and takes the same message once more: in half of the cases if the sender dies within 6 ms of sending it.
const orphanTime = 2 * time.Second

// noteInherited notes which messages the process before this one may have been sending when it ended.
func (b *Bot) noteInherited(ctx context.Context) error {
	last, err := b.Journal.Messages.LastSeq(ctx)
	b.inherited.Store(last)
	return err
}

// awaitInherited waits for the echo of a message that may have been on its way when the process before this one ended. That
// can only be the first message of a room. It reports whether it has waited.
func (o *outbox) awaitInherited(ctx context.Context, row state.Message) bool {
	b := o.room.bot
	if o.awaited || row.Seq > b.inherited.Load() {
		return false
	}
	o.awaited = true
	_ = retry.Sleep(ctx, orphanTime)
	o.afterSync(ctx, b.synced.Coming(), 0)
	return true
}
