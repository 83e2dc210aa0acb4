package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

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
			if err != nil && ambiguous(err) {
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
		pause := retryAfter(err, wait)
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
	o.room.bot.hurry()
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
	resp, err := b.put(call, row, content)
	var sealed *sealError
	switch {
	case err == nil:
		crashAfter(row.Txn, "sent")
		if err := b.Journal.MarkSent(ctx, row.Txn, resp.EventID.String()); err != nil {
			return err
		}
		crashAfter(row.Txn, "marked")
		if _, asked := questionNumber(row.Txn); asked && row.Task != "" {
			return o.room.look(ctx, row.Task)
		}
		return nil
	case errors.Is(err, mautrix.MTooLarge):
		return o.tooLarge(ctx, row, err)
	case errors.As(err, &sealed), transient(err), ctx.Err() != nil, errors.Is(err, mautrix.MUnknownToken):
		return err
	}
	if o.room.moving(ctx) {
		return err // the successor will have it
	}
	if errors.Is(err, mautrix.MForbidden) {
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

// put sends the content of a row: an event, or the taking back of one.
func (b *Bot) put(ctx context.Context, row state.Outbound, content json.RawMessage) (*mautrix.RespSendEvent, error) {
	if row.Type != event.EventRedaction.Type {
		return b.send(ctx, row.Room, row.Type, row.Txn, content)
	}
	var c struct {
		Redacts id.EventID `json:"redacts"`
	}
	if err := json.Unmarshal(content, &c); err != nil {
		return nil, fmt.Errorf("read redaction: %w", err)
	}
	return b.client.RedactEvent(ctx, roomID(row.Room), c.Redacts, mautrix.ReqRedact{TxnID: row.Txn})
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

// ambiguous tells an answer that did not arrive: the message may have.
func ambiguous(err error) bool {
	var http mautrix.HTTPError
	if !errors.As(err, &http) {
		return false
	}
	return http.Response == nil || http.Response.StatusCode >= 500
}

// retryAfter is how long the homeserver wants us to wait, or the default.
func retryAfter(err error, otherwise time.Duration) time.Duration {
	var resp mautrix.RespError
	if errors.As(err, &resp) && resp.ErrCode == mautrix.MLimitExceeded.ErrCode {
		if ms, ok := resp.ExtraData["retry_after_ms"].(float64); ok && ms > 0 {
			return min(time.Duration(ms)*time.Millisecond, 5*time.Minute)
		}
	}
	return otherwise
}

// crashAfter is the crash point behind the sending of a result or a question.
func crashAfter(txn, point string) {
	if _, asked := questionNumber(txn); asked {
		crash("question-" + point)
	} else if strings.Contains(txn, "-f") {
		crash(point)
	}
}
