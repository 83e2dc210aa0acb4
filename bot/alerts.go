package bot

import (
	"context"
	"slices"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

const (
	watchEvery = time.Minute
	alertTime  = 20 * time.Second // timeout for sending one alert
)

// watchHost checks the host once a minute until ctx ends.
func (b *Bot) watchHost(ctx context.Context) {
	for ctx.Err() == nil {
		b.checkHost(ctx)
		_ = retry.Sleep(ctx, watchEvery)
	}
}

// checkHost sends alerts about resources that run low to the owners' room.
// It bypasses the journal, because a full disk is one of the things it reports.
func (b *Bot) checkHost(ctx context.Context) {
	b.watch.Look(ctx, func(room, text string, short bool) (taken, refused bool) {
		m := state.Message{Room: room, Kind: state.KindAlert, Notice: !short, Body: text}
		if short {
			m.Mentions = b.Owners
		}
		call, cancel := context.WithTimeout(ctx, alertTime)
		defer cancel()
		_, err := b.account.Send(call, m)
		if matrix.IsRejected(err) {
			b.log.Error().Err(err).Str("room", room).Msg("the homeserver rejects an alert")
			_, m.Body = substitute(m, err)
			_, err = b.account.Send(call, m)
		}
		if err != nil {
			b.log.Warn().Err(err).Str("room", room).Bool("short", short).Msg("cannot send alert")
		}
		return err == nil, b.refusesAlerts(call, room, err)
	})
}

// refusesAlerts reports whether a room that did not take an alert because of err is given up, so that other rooms get it:
// the bot cannot encrypt for it or may not send there, or the homeserver goes on refusing.
func (b *Bot) refusesAlerts(ctx context.Context, room string, err error) bool {
	switch {
	case err == nil:
		delete(b.unalerted, room)
		return false
	case matrix.Temporary(err), matrix.IsNotEncrypted(err), ctx.Err() != nil:
		return false
	case !matrix.IsAnswer(err):
		return true
	}
	if may, unknown := b.account.MaySend(ctx, room, event.TypeMessage); unknown == nil && !may {
		return true
	}
	return !b.unalerted.Again(room, err)
}

// tellOwners queues a message for the owners in the room for alerts or, if it is none of
// the joined rooms, in their direct chats; a repeated key makes no second message. If
// there is no such room, the message waits for one.
func (b *Bot) tellOwners(ctx context.Context, key string, joined []string, said string) error {
	room, on := b.watch.Where()
	if !on {
		return nil
	}
	rooms := []string{room}
	if !slices.Contains(joined, room) {
		rooms = slices.DeleteFunc(b.roster.Direct.Rooms(b.Owners), func(room string) bool { return !slices.Contains(joined, room) })
	}
	if len(rooms) == 0 {
		b.note(said)
	}
	for _, room := range rooms {
		r := b.room(room)
		m := r.out(state.KindAlert, state.Hash(room+"\x00"+key)+"-alert", said)
		m.Mentions = b.Owners
		if err := r.queue(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// note tells the owners something, in the room for alerts or else in their direct chats.
func (b *Bot) note(text string) {
	b.watch.Note(text)
	b.work.Start(func() { b.checkHost(b.ctx) })
}

// doAlerts runs !alerts: alerts go to this room, or are turned off.
func (r *room) doAlerts(ctx context.Context, row state.Event, text string) error {
	b := r.bot
	room, where := "", ""
	switch text {
	case "here":
		room, where = r.id, "I will tell you here when disk space, memory or the model's quota runs low. "
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
	b.checkHost(ctx)
	return nil
}
