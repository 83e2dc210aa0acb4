package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/event"
	"matrix-tui/state"
)

// txnRef before a transaction ID stands, in a stored message, for the event
// that the transaction made: an edit can be queued before its original is sent.
const txnRef = "txn:"

// outbox sends a room's queued messages, in order, each exactly once: the row
// is there before the send, carries its transaction ID, and is marked after
// it. After an answer that did not arrive, the next sync is waited for: if the
// message was taken after all, it comes back with its transaction ID and
// marks its own row.
type outbox struct {
	lane
	room *room
}

func (o *outbox) init(r *room) {
	o.room = r
	o.lane.start = r.bot.startLane
	o.lane.work = o.drain
}

func (o *outbox) drain() {
	b := o.room.bot
	ctx := b.ctx
	for wait := time.Second; ctx.Err() == nil; {
		rows, err := b.Journal.Unsent(ctx, o.room.id)
		if err == nil && len(rows) == 0 {
			return
		}
		if err == nil {
			coming := b.synced.coming()
			err = o.send(ctx, rows[0])
			if err != nil && matrix.Ambiguous(err) {
				wait = o.afterSync(ctx, coming, wait)
				continue
			}
		}
		if err == nil {
			wait = time.Second
			continue
		}
		if ctx.Err() != nil {
			return
		}
		pause := matrix.RetryAfter(err, wait)
		b.log.Warn().Err(err).Str("room", o.room.id).Dur("again_in_ms", pause).Msg("message is held up")
		if sleep(ctx, pause) != nil {
			return
		}
		wait = min(2*wait, 30*time.Second)
	}
}

// afterSync waits until a sync has been committed since the send, so that the
// echo of a message that was taken has marked its row.
func (o *outbox) afterSync(ctx context.Context, coming <-chan struct{}, wait time.Duration) time.Duration {
	o.room.bot.account.Hurry()
	select {
	case <-coming:
	case <-ctx.Done():
		return wait
	}
	_ = sleep(ctx, wait)
	return min(2*wait, 30*time.Second)
}

// send sends one row and marks it. An error means: not sent as far as we know.
func (o *outbox) send(ctx context.Context, row state.Outbound) error {
	b := o.room.bot
	content, err := o.resolve(ctx, row)
	if err != nil {
		return err
	}
	if content == nil { // an edit whose original was refused
		return b.Journal.MarkRefused(ctx, row.Txn, "its original was not sent")
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	sent, err := b.put(call, row, content)
	switch {
	case err == nil:
		crashAfter(row.Txn, "sent")
		if err := b.Journal.MarkSent(ctx, row.Txn, sent); err != nil {
			return err
		}
		crashAfter(row.Txn, "marked")
		if _, asked := questionNumber(row.Txn); asked && row.Task != "" {
			return o.room.look(ctx, row.Task)
		}
		return nil
	case matrix.IsTooLarge(err):
		return o.tooLarge(ctx, row, err)
	case matrix.IsNotEncrypted(err), matrix.Transient(err), ctx.Err() != nil, matrix.IsUnknownToken(err):
		return err
	}
	if o.room.moving(ctx) {
		return err // the successor will have it
	}
	if matrix.IsForbidden(err) {
		return o.forbidden(ctx, row, err)
	}
	b.log.Warn().Err(err).Str("room", row.Room).Str("txn", row.Txn).Msg("the homeserver refuses the message")
	return b.Journal.MarkRefused(ctx, row.Txn, err.Error())
}

// references are what the content of a message of ours says about other events.
type references struct {
	Redacts   string `json:"redacts"`
	RelatesTo struct {
		RelType   string `json:"rel_type"`
		EventID   string `json:"event_id"`
		InReplyTo struct {
			EventID string `json:"event_id"`
		} `json:"m.in_reply_to"`
	} `json:"m.relates_to"`
}

// put sends the content of a row, an event or a redaction, and returns its ID.
func (b *Bot) put(ctx context.Context, row state.Outbound, content json.RawMessage) (string, error) {
	if row.Type != event.TypeRedaction {
		return b.account.Send(ctx, row.Room, row.Type, row.Txn, content)
	}
	var c references
	if err := json.Unmarshal(content, &c); err != nil {
		return "", fmt.Errorf("read redaction: %w", err)
	}
	return b.account.Redact(ctx, row.Room, row.Txn, c.Redacts)
}

// tooLarge has a sentence sent in the place of an answer that the homeserver
// does not take: a task never ends in silence.
func (o *outbox) tooLarge(ctx context.Context, row state.Outbound, err error) error {
	b := o.room.bot
	b.log.Error().Err(err).Str("room", row.Room).Str("txn", row.Txn).Msg("message is too large for the homeserver")
	if strings.Contains(row.Txn, "-f") && !strings.HasSuffix(row.Txn, "-s") {
		m := rendered("⚠️ The answer is larger than the homeserver takes. The work itself is done: ask me for the result in parts.")
		var told message
		if json.Unmarshal(row.Content, &told) == nil {
			m.RelatesTo = told.RelatesTo
		}
		if err := b.Journal.Queue(ctx, o.room.out(row.Txn+"-s", row.Task, m)); err != nil {
			return err
		}
	}
	return b.Journal.MarkRefused(ctx, row.Txn, err.Error())
}

// resolve puts the event ID in the place of a reference to a transaction. It
// returns nil when there is no such event; a reply then stands for itself.
func (o *outbox) resolve(ctx context.Context, row state.Outbound) (json.RawMessage, error) {
	var c references
	if err := json.Unmarshal(row.Content, &c); err != nil {
		return nil, nil
	}
	ref := cmp.Or(c.Redacts, c.RelatesTo.EventID, c.RelatesTo.InReplyTo.EventID)
	txn, ok := strings.CutPrefix(ref, txnRef)
	if !ok {
		return row.Content, nil
	}
	original, err := o.room.bot.Journal.Outbound(ctx, txn)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return nil, err
	}
	if err == nil && original.Event != "" && original.Room == row.Room {
		quoted, _ := json.Marshal(ref)
		id, _ := json.Marshal(original.Event)
		return json.RawMessage(strings.ReplaceAll(string(row.Content), string(quoted), string(id))), nil
	}
	var all map[string]json.RawMessage
	if c.Redacts != "" || c.RelatesTo.EventID != "" || json.Unmarshal(row.Content, &all) != nil {
		return nil, nil
	}
	delete(all, "m.relates_to")
	return json.Marshal(all)
}

// moving tells whether the room has a successor that we are about to follow.
func (r *room) moving(ctx context.Context) bool {
	rows, err := r.bot.Journal.Unfinished(ctx, r.id)
	if err != nil {
		return false
	}
	for _, row := range rows {
		if row.Type == "m.room.tombstone" {
			return true
		}
	}
	return false
}

// crashAfter is the crash point behind the sending of a result or a question.
func crashAfter(txn, point string) {
	if _, asked := questionNumber(txn); asked {
		crash("question-" + point)
	} else if strings.Contains(txn, "-f") {
		crash(point)
	}
}
