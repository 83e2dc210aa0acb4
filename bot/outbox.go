package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

// outbox sends a room's queued messages in order, each exactly once. The row
// exists before the message is sent, carries its transaction ID and is marked
// afterwards. If the homeserver's answer is lost, the outbox waits for the next
// sync: a message that was accepted comes back with its transaction ID, which
// marks its row.
type outbox struct {
	queue.Worker
	room *room
}

func (o *outbox) init(r *room) {
	o.room = r
	o.Worker.Start = r.bot.startWorker
	o.Worker.Work = o.drain
}

func (o *outbox) drain() {
	b := o.room.bot
	ctx := b.ctx
	for again := retry.New(time.Second, 30*time.Second); ctx.Err() == nil; {
		row, err := b.Journal.NextMessage(ctx, o.room.id)
		if errors.Is(err, state.ErrNotFound) {
			return
		}
		if err == nil {
			coming := b.synced.Coming()
			err = o.send(ctx, row)
			if err != nil && matrix.Ambiguous(err) {
				o.afterSync(ctx, coming, again.Next())
				continue
			}
		}
		if err == nil {
			again.Reset()
			continue
		}
		if ctx.Err() != nil {
			return
		}
		pause := matrix.RetryAfter(err, again.Next())
		b.log.Warn().Err(err).Str("room", o.room.id).Dur("again_in_ms", pause).Msg("cannot send the message, retrying")
		if retry.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// afterSync waits for a sync that began after the send, so that the echo of an
// accepted message has marked its row, and then for pause.
func (o *outbox) afterSync(ctx context.Context, coming <-chan struct{}, pause time.Duration) {
	o.room.bot.account.SyncNow()
	select {
	case <-coming:
	case <-ctx.Done():
		return
	}
	_ = retry.Sleep(ctx, pause)
}

// send sends one row and marks it. An error means that the message was not sent,
// as far as we know.
func (o *outbox) send(ctx context.Context, row state.Message) error {
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
		crashAfter(row, "sent")
		if err := b.Journal.MarkSent(ctx, row.Txn, sent); err != nil {
			return err
		}
		crashAfter(row, "marked")
		if row.Kind == state.KindQuestion {
			return o.room.checkWaiting(ctx, row.Task)
		}
		return nil
	case matrix.IsTooLarge(err):
		return o.tooLarge(ctx, row, err)
	case matrix.IsNotEncrypted(err), matrix.Transient(err), ctx.Err() != nil, matrix.IsUnknownToken(err):
		return err
	}
	if o.room.moving(ctx) {
		return err // the row moves to the successor
	}
	if matrix.IsForbidden(err) {
		return o.forbidden(ctx, row, err)
	}
	b.log.Warn().Err(err).Str("room", row.Room).Str("txn", row.Txn).Msg("the homeserver rejected the message")
	return b.Journal.MarkRefused(ctx, row.Txn, err.Error())
}

// references holds the event IDs in the content of one of our messages.
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

// put sends the content of a row as an event or a redaction and returns its ID.
func (b *Bot) put(ctx context.Context, row state.Message, content json.RawMessage) (string, error) {
	if row.Type != event.TypeRedaction {
		return b.account.Send(ctx, row.Room, row.Type, row.Txn, content)
	}
	var c references
	if err := json.Unmarshal(content, &c); err != nil {
		return "", fmt.Errorf("read redaction: %w", err)
	}
	return b.account.Redact(ctx, row.Room, row.Txn, c.Redacts)
}

// tooLarge replaces a result that the homeserver rejects as too large with a
// sentence, so that no task ends without a message, and drops any other message.
func (o *outbox) tooLarge(ctx context.Context, row state.Message, err error) error {
	b := o.room.bot
	b.log.Error().Err(err).Str("room", row.Room).Str("txn", row.Txn).Msg("message is too large for the homeserver")
	if row.Kind == state.KindFinal {
		m := matrix.Text("⚠️ The answer is larger than the homeserver accepts. The task itself is done: ask me for the result in parts.")
		var told message
		if json.Unmarshal(row.Content, &told) == nil {
			m.RelatesTo = told.RelatesTo
		}
		instead := o.room.out(state.KindTooLarge, row.Txn+"-s", m)
		instead.Task, instead.Number = row.Task, row.Number
		if err := b.Journal.Queue(ctx, instead); err != nil {
			return err
		}
	}
	return b.Journal.MarkRefused(ctx, row.Txn, err.Error())
}

// resolve returns the row's content with the event ID of the message that the row
// refers to. If that message was never sent, it returns a reply without its
// relation, and nil for anything else, such as an edit.
func (o *outbox) resolve(ctx context.Context, row state.Message) (json.RawMessage, error) {
	if row.About == "" {
		return row.Content, nil
	}
	original, err := o.room.bot.Journal.Message(ctx, row.About)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return nil, err
	}
	if err == nil && original.Event != "" && original.Room == row.Room {
		ref, _ := json.Marshal(state.AboutRef(row.About))
		id, _ := json.Marshal(original.Event)
		return json.RawMessage(strings.ReplaceAll(string(row.Content), string(ref), string(id))), nil
	}
	var c references
	var all map[string]json.RawMessage
	if json.Unmarshal(row.Content, &c) != nil || c.Redacts != "" || c.RelatesTo.EventID != "" || json.Unmarshal(row.Content, &all) != nil {
		return nil, nil
	}
	delete(all, "m.relates_to")
	return json.Marshal(all)
}

// moving reports whether a tombstone of the room is pending.
func (r *room) moving(ctx context.Context) bool {
	_, err := r.bot.Journal.PendingType(ctx, r.id, event.TypeTombstone)
	return err == nil
}

// crashAfter is the crash point after a result or a question was sent.
func crashAfter(m state.Message, point string) {
	switch m.Kind {
	case state.KindQuestion:
		crash.At("question-" + point)
	case state.KindFinal, state.KindTooLarge:
		crash.At(point)
	}
}

// answeredBefore holds the keys of events that this account has answered with
// messages that are not in the journal. That happens only after the state
// directory was restored from a backup: events since the backup arrive again, and
// those that were handled must not be handled twice.
type answeredBefore map[string]bool

// take records the transaction of a message without a row, if the message
// finished an event: a result, or a reply by tell.
func (l answeredBefore) take(txn string) {
	switch key, kind, _ := state.KindOfTxn(txn); kind {
	case state.KindFinal, state.KindTooLarge, state.KindReply:
		l[key] = true
	}
}

// archive marks the rows that were answered as archived.
func (l answeredBefore) archive(rows []state.Event) {
	for i := range rows {
		if rows[i].Status == state.Pending && l[task.KeyOf(rows[i].Room, rows[i].ID)] {
			rows[i].Status = state.Archived
		}
	}
}
