package bot

import (
	"context"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// cleartextQuiet is the minimum time between two warnings about unencrypted
// messages in the same room.
const cleartextQuiet = time.Hour

// clearUntil returns the index of the first of a room's new events that must be
// encrypted: everything after the event that enabled encryption, or everything
// if encryption was enabled before. before and now report whether the room was
// known to be encrypted before and after the batch.
func clearUntil(before, now bool, events []event.Event) int {
	if before {
		return 0
	}
	for i, e := range events {
		if e.IsState(event.TypeEncryption) {
			return i
		}
	}
	if now { // enabled by an event that is not in this list
		return 0
	}
	return len(events)
}

// tellCleartext tells the room that an unencrypted message was ignored, at most
// once an hour.
func (r *room) tellCleartext(ctx context.Context, row state.Event) {
	r.mu.Lock()
	quiet := time.Since(r.cleartext) < cleartextQuiet
	if !quiet {
		r.cleartext = time.Now()
	}
	r.mu.Unlock()
	if quiet {
		return
	}
	r.bot.log.Warn().Str("room", r.id).Str("sender", row.Sender).Msg("cleartext message in an encrypted room: not obeyed")
	m := matrix.Notice("🔓 I ignored an unencrypted message from " + text.Code(row.Sender) + ". This room is encrypted, so I act only on encrypted messages. " +
		"If you wrote it, check your client's encryption settings and send it again.")
	m.RelatesTo = relate(originOf(row), row.ID)
	if err := r.queue(ctx, r.out(state.KindCleartext, task.KeyOf(row.Room, row.ID)+"-clear", m)); err != nil && ctx.Err() == nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("cannot queue the warning about a cleartext message")
	}
}
