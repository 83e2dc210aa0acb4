package alert

import (
	"context"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

const sendTime = 20 * time.Second // timeout for sending one alert

// send sends a text to a room. It bypasses the journal, because a full disk is one of the things that alerts are about.
func (w *Watch) send(ctx context.Context, room, text string, short bool) (taken, refused bool) {
	m := state.Message{Room: room, Kind: state.KindAlert, Notice: !short, Body: text}
	if short {
		m.Mentions = w.Owners
	}
	call, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	_, err := w.Account.Messages.Send(call, m)
	if err != nil {
		w.Log.Warn().Err(err).Str("room", room).Bool("short", short).Msg("cannot send alert")
	}
	return err == nil, w.refuses(call, room, err)
}

// refuses reports whether a room that did not take an alert because of err is given up, so that other rooms get it: the
// bot cannot encrypt for it or may not send there, or the homeserver goes on refusing.
func (w *Watch) refuses(ctx context.Context, room string, err error) bool {
	switch {
	case err == nil:
		delete(w.refused, room)
		return false
	case matrix.Temporary(err), matrix.IsNotEncrypted(err), ctx.Err() != nil:
		return false
	case !matrix.IsAnswer(err):
		return true
	}
	if may, unknown := w.Account.Rooms.MaySend(ctx, room, event.TypeMessage); unknown == nil && !may {
		return true
	}
	return !w.refused.Again(room, err)
}
