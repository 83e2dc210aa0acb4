package admit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
)

// The bot starts over with an initial sync if the homeserver rejects its sync token, or
// was wiped or restored from a backup. Every known room then counts as limited, back to
// the last known event.

// checkServer makes the next sync an initial one if the homeserver has lost what it has
// sent. If it cannot tell, it is asked again before the next sync.
func (a *Admission) checkServer(ctx context.Context) {
	lost, err := a.Timeline.Lost(ctx)
	a.checked = err == nil
	if err != nil && ctx.Err() == nil {
		a.Group.Log.Warn().Err(err).Msg("cannot check whether the homeserver has the newest known event")
	}
	if lost {
		a.startOver.Store(true)
		a.Group.Log.Info().Msg("the homeserver does not have the newest known event, or no room: starting over with an " +
			"initial sync")
	}
}

// replaceAll completes the batch of an initial sync: all gaps end, because this batch has
// its own, and the bot is gone from known rooms. last is the token of the batch before,
// or "". That a room is not in the batch proves nothing: Synapse repeats its answer for two
// minutes, and rooms joined since then come with the next one.
func (a *Admission) replaceAll(ctx context.Context, batch *matrix.Sync, next *state.Batch) error {
	for name := range batch.Joined {
		next.Closes = append(next.Closes, name)
	}
	unfinished, err := a.Journal.Events.UnfinishedRooms(ctx)
	if err != nil {
		return err
	}
	gaps, err := a.Journal.Gaps.Rooms(ctx)
	if err != nil {
		return err
	}
	batch.Left = nil // long ago
	known := slices.Concat(slices.Collect(maps.Keys(a.Store.Containers.All())), unfinished, gaps)
	slices.Sort(known)
	for _, name := range slices.Compact(known) {
		_, joined := batch.Joined[name]
		_, invited := batch.Invited[name]
		if !joined && !invited {
			batch.Left = append(batch.Left, name)
		}
	}
	if len(batch.Left) > 0 {
		in, err := a.Account.Rooms.Joined(ctx)
		if err != nil {
			return fmt.Errorf("list joined rooms: %w", err)
		}
		batch.Left = slices.DeleteFunc(batch.Left, func(name string) bool { return slices.Contains(in, name) })
	}
	return nil
}

// startedOver is what the owners are told then.
const startedOver = "⚠️ The homeserver has rejected or lost my position in the timeline. Perhaps it was restored " +
	"from a backup. I have read every room again, back to the last message I know: nothing is done twice. What the " +
	"homeserver itself has lost is gone."
