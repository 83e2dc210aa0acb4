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

// queuedRow shows that a task is in line behind another one.
func (t *task) queuedRow() state.Message {
	return t.reaction(state.KindReaction, 0, t.rec.Key+"-queued", t.rec.Event, queuedKey)
}

// begunRows show that a task is worked on, and no longer in line.
func (t *task) begunRows() []state.Message {
	if t.rec.Source == state.FromHTTP || t.hasMoved() {
		return nil
	}
	return []state.Message{t.reaction(state.KindReaction, 0, t.rec.Key+"-eyes", t.rec.Event, eyesKey), t.redaction(t.rec.Key + "-queued")}
}

// endedRows show how a task ended. One that never got its turn is in line until
// then.
func (t *task) endedRows(how agent.Ended) []state.Message {
	if t.rec.Source == state.FromHTTP || t.hasMoved() {
		return nil
	}
	key := failedKey
	if how == agent.Completed {
		key = doneKey
	}
	return []state.Message{
		t.redaction(t.rec.Key + "-eyes"), t.redaction(t.rec.Key + "-queued"),
		t.reaction(state.KindReaction, 0, t.rec.Key+"-end", t.rec.Event, key),
	}
}

// reaction is the row of a reaction to an event.
func (t *task) reaction(kind state.Kind, number int, txn, about, key string) state.Message {
	content, err := json.Marshal(map[string]any{
		"m.relates_to":      map[string]string{"rel_type": "m.annotation", "event_id": about, "key": key},
		"io.matrix-tui.txn": txn,
	})
	if err != nil {
		panic(fmt.Sprintf("marshal reaction: %v", err)) // plain strings cannot fail
	}
	return t.of(number, state.Message{Txn: txn, Room: t.id, Kind: kind, Type: event.TypeReaction, Content: content, About: ownTxn(about)})
}

// redaction is the row that takes the event of a transaction back, if there is
// one.
func (t *task) redaction(txn string) state.Message {
	content, err := json.Marshal(map[string]any{"redacts": state.AboutRef(txn)})
	if err != nil {
		panic(fmt.Sprintf("marshal redaction: %v", err)) // plain strings cannot fail
	}
	return t.of(0, state.Message{Txn: txn + "-x", Room: t.id, Kind: state.KindRedaction, Type: event.TypeRedaction, Content: content, About: txn})
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
