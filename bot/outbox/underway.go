package outbox

import (
	"context"
	"time"

	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// orphanTime is how long a homeserver may take for a request whose sender has died. Dendrite v0.15.2 goes on with it,
// forgets its transaction ID, and takes the same message once more: in half of the cases if the sender dies within 6 ms
// of sending it.
const orphanTime = 2 * time.Second

// NoteUnderWay notes which messages the process before this one may have been sending when it ended. Call it before the
// first message can be sent.
func (s *Shared) NoteUnderWay(ctx context.Context) error {
	last, err := s.Journal.Messages.LastSeq(ctx)
	s.underWay.Store(last)
	return err
}

// awaitEcho waits for the echo of a message that may have been on its way when the process before this one ended.
// That can only be the first message of a room. It reports whether it has waited.
func (r *Room) awaitEcho(ctx context.Context, row state.Message) bool {
	if r.awaited || row.Seq > r.underWay.Load() {
		return false
	}
	r.awaited = true
	_ = retry.Sleep(ctx, orphanTime)
	r.afterSync(ctx, r.Synced.Coming(), 0)
	return true
}
