package bot

import (
	"context"
	"encoding/json"
	"fmt"

	"matrix-tui/agent"
	"matrix-tui/bot/matrix/event"
	"matrix-tui/state"
)

// displayName is what the bot calls itself where nobody has given it a name.
const displayName = "matrix-tui"

// The reactions to a task: it is in line, it is worked on, it was done, it was
// not.
const (
	queuedKey = "⏳"
	eyesKey   = "👀"
	doneKey   = "✅"
	failedKey = "❌"
)

// acknowledge shows that a message is in line behind a task that runs.
func (r *room) acknowledge(row state.Inbound) {
	e, _ := parseEvent(row.Raw)
	if r.classify(r.bot.ctx, e) != kindTask || !isSpoken(row.Type) || !r.busy(taskKey(row)) || r.joins(row) {
		return
	}
	key := taskKey(row)
	if err := r.queue(r.bot.ctx, r.reaction(key+"-queued", row.Event, queuedKey)); err != nil && r.bot.ctx.Err() == nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("acknowledge task")
	}
}

// begunRows show that a task is worked on, and no longer in line.
func (t *task) begunRows() []state.Outbound {
	if !isSpoken(t.row.Type) || hasMoved(t.row) {
		return nil
	}
	return []state.Outbound{t.room.reaction(t.key+"-eyes", t.row.Event, eyesKey), t.room.redaction(t.key + "-queued")}
}

// endedRows show how a task ended. One that never got its turn is in line until
// then.
func (t *task) endedRows(how agent.Ended) []state.Outbound {
	if !isSpoken(t.row.Type) || hasMoved(t.row) {
		return nil
	}
	key := failedKey
	if how == agent.Completed {
		key = doneKey
	}
	return []state.Outbound{t.room.redaction(t.key + "-eyes"), t.room.redaction(t.key + "-queued"), t.room.reaction(t.key+"-end", t.row.Event, key)}
}

// reaction is the row of a reaction to an event.
func (r *room) reaction(txn, about, key string) state.Outbound {
	content, err := json.Marshal(map[string]any{
		"m.relates_to":      map[string]string{"rel_type": "m.annotation", "event_id": about, "key": key},
		"io.matrix-tui.txn": txn,
	})
	if err != nil {
		panic(fmt.Sprintf("marshal reaction: %v", err)) // plain strings cannot fail
	}
	return state.Outbound{Txn: txn, Room: r.id, Type: event.TypeReaction, Content: content}
}

// redaction is the row that takes the event of a transaction back, if there is
// one.
func (r *room) redaction(txn string) state.Outbound {
	content, err := json.Marshal(map[string]any{"redacts": txnRef + txn})
	if err != nil {
		panic(fmt.Sprintf("marshal redaction: %v", err)) // plain strings cannot fail
	}
	return state.Outbound{Txn: txn + "-x", Room: r.id, Type: event.TypeRedaction, Content: content}
}

// introduce gives the account a name and a picture where it has none. A person
// may change both; they stay.
func (b *Bot) introduce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	name, picture, err := b.account.Profile(ctx)
	if err != nil {
		b.log.Debug().Err(err).Msg("read own profile")
		return
	}
	b.called.Store(name)
	if name == "" || name == b.account.Localpart() {
		if err := b.account.SetName(ctx, displayName); err != nil {
			b.log.Warn().Err(err).Msg("set display name")
		} else {
			b.called.Store(displayName)
		}
	}
	if !picture {
		if err := b.setAvatar(ctx); err != nil {
			b.log.Warn().Err(err).Msg("set avatar")
		}
	}
}

func (b *Bot) setAvatar(ctx context.Context) error {
	picture, err := avatar()
	if err != nil {
		return err
	}
	return b.account.SetPicture(ctx, picture, "image/png")
}
