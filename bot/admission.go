package bot

import (
	"context"
	"encoding/json"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/event"
	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// typeCleartext is the type of a message that came in clear into an encrypted
// room. Clients encrypt there, so it was written by a broken client or by the
// homeserver: it is kept, and nothing is done about it.
const typeCleartext = ownTypes + "cleartext"

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
		if e.Type == event.TypeEncryption && e.StateKey != nil && *e.StateKey == "" {
			return i
		}
	}
	if now { // it was turned on somewhere before these
		return 0
	}
	return len(events)
}

// asCleartext is the row of a message that must not be obeyed, as the journal
// keeps it.
func asCleartext(row state.Inbound) state.Inbound {
	row.Type, row.Status = typeCleartext, state.Archived
	var all map[string]json.RawMessage
	if json.Unmarshal(row.Raw, &all) == nil {
		all["type"], _ = json.Marshal(typeCleartext) // a string cannot fail
		if raw, err := json.Marshal(all); err == nil {
			row.Raw = raw
		}
	}
	return row
}

// tellCleartext says that an unencrypted message was not obeyed, at most once
// an hour.
func (r *room) tellCleartext(ctx context.Context, row state.Inbound) {
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
	m.RelatesTo = relate(originOf(row), row.Event)
	if err := r.queue(ctx, r.out(state.KindCleartext, task.KeyOf(row)+"-clear", m)); err != nil && ctx.Err() == nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("tell of a cleartext message")
	}
}
