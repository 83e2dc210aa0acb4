package bot

import (
	"context"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

const (
	watchEvery = time.Minute
	alertTime  = 20 * time.Second // of one message
)

// watchHost looks after the host until ctx ends.
func (b *Bot) watchHost(ctx context.Context) {
	for ctx.Err() == nil {
		b.lookAfterHost(ctx)
		_ = retry.Sleep(ctx, watchEvery)
	}
}

// lookAfterHost tells the owners' room what runs short. It goes past the
// journal: a full disk is one of the things to tell.
func (b *Bot) lookAfterHost(ctx context.Context) {
	b.watch.Look(ctx, func(room, text string, short bool) bool {
		m := matrix.Notice(text)
		if short {
			m.MsgType = matrix.MsgText
			m.Mentions.UserIDs = append(m.Mentions.UserIDs, b.Owners...)
		}
		call, cancel := context.WithTimeout(ctx, alertTime)
		defer cancel()
		_, err := b.account.Send(call, room, event.TypeMessage, "", m)
		if err != nil {
			b.log.Warn().Err(err).Str("room", room).Bool("short", short).Msg("the alert could not be sent")
		}
		return err == nil || !matrix.Transient(err) && !matrix.IsNotEncrypted(err) && ctx.Err() == nil
	})
}

// doAlerts has trouble of the host told in this room, or nowhere.
func (r *room) doAlerts(ctx context.Context, row state.Event, text string) error {
	b := r.bot
	room, where := "", ""
	switch text {
	case "here":
		room, where = r.id, "I tell you here when disk, memory or the model's quota runs short. "
	case "off":
		where = "Alerts are off. Send `!alerts here` in a room to get alerts about disk, memory and the model's quota there. "
	default:
		return r.tell(ctx, row, "`!alerts here` sends alerts about the host to this room, `!alerts off` turns them off.")
	}
	if err := b.watch.Tell(room); err != nil {
		return err
	}
	if err := r.tell(ctx, row, where+b.watch.Standing(ctx)); err != nil {
		return err
	}
	b.lookAfterHost(ctx)
	return nil
}
