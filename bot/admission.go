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

// cleartextQuiet is how long a room is not told again of such messages.
const cleartextQuiet = time.Hour

// clearUntil is the index of the first of a room's new events that must be
// encrypted: those behind the event that turned encryption on, or all of them
// where it was on before.
func clearUntil(before, now bool, events []event.Event) int {
	if before {
		return 0
	}
	for i, e := range events {
		if e.IsState(event.TypeEncryption) {
			return i
		}
	}
	if now { // it was turned on somewhere before these
		return 0
	}
	return len(events)
}

// tellCleartext says that an unencrypted message was not obeyed, at most once
// an hour.
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
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("tell of a cleartext message")
	}
}
