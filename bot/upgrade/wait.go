package upgrade

import (
	"context"
	"errors"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// wait lets a tombstone wait until it can be followed, unless there is a newer one.
// Meanwhile nothing moves and the room goes on: the homeserver shows only members which
// room the successor replaces.
func (r *Room) wait(ctx context.Context, tombstone state.Event) {
	ctx, stop := context.WithCancel(ctx)
	r.Turn.Lock()
	defer r.Turn.Unlock()
	r.stop = stop
	if !r.Group.Start(func() { defer stop(); r.await(ctx, tombstone) }) {
		stop()
	}
}

// await tries again and again to enter the successor, and has the tasks worker follow
// then. One refusal proves nothing; after half a minute the owners and the room are told.
func (r *Room) await(ctx context.Context, tombstone state.Event) {
	var refused matrix.Refusals // the tasks worker has its own
	begun, told := time.Now(), false
	for again := retry.New(time.Second, 5*time.Minute); ctx.Err() == nil; {
		call, cancel := context.WithTimeout(ctx, 2*matrix.CallTimeout)
		err := r.enter(call, tombstone.Body.Successor, &refused)
		cancel()
		switch {
		case err == nil || errors.Is(err, errNoSuccessor):
			r.follow(tombstone.ID)
			return
		case told:
		case errors.Is(err, errUnmoved):
			tellStaying(r, tombstone, err)
			told = true
		case errors.Is(err, errUninvited) && time.Since(begun) >= matrix.RefusedTime:
			err := r.tellUninvited(ctx, tombstone)
			if told = err == nil; !told && ctx.Err() == nil {
				r.Group.Log.Warn().Err(err).Str("room", r.ID).Msg("cannot tell the room that its upgrade waits")
			}
		}
		_ = retry.Sleep(ctx, again.Next())
	}
}

// follow has the tasks worker follow a tombstone that waits; "" stands for any.
func (r *Room) follow(tombstone string) {
	r.Turn.Lock()
	defer r.Turn.Unlock()
	if r.tombstone == nil || tombstone != "" && r.tombstone.ID != tombstone {
		return
	}
	r.endWait()
	r.Turn.Wake()
}

// endWait ends what wait has begun. The caller holds r.Turn.
func (r *Room) endWait() {
	if r.stop != nil {
		r.stop()
		r.stop = nil
	}
}
