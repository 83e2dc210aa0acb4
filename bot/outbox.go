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
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

// outbox sends a room's queued messages in order, each exactly once. The row
// exists before the message is sent, carries its transaction ID and is marked
// afterwards. If the homeserver's answer is lost, the outbox waits for the next
// sync: a message that was accepted comes back with its transaction ID, which
// marks its row. It also waits for a gap that may contain such an echo, and after a
// restart, because the process may have died while it was sending.
type outbox struct {
	queue.Worker
	room     *room
	awaited  bool   // the echo of a message from before a restart
	panicked string // transaction ID of the message whose sending has panicked most recently
	panics   int    // how often
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
			if o.awaitInherited(ctx, row) {
				continue
			}
			coming := b.synced.Coming()
			err = o.attempt(ctx, row)
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

// attempt is send. If that panics, it is tried again as after any error; the second time
// a sentence takes the message's place.
func (o *outbox) attempt(ctx context.Context, row state.Message) error {
	err := o.room.bot.guarded(row.Room, "sending a message", func() error { return o.send(ctx, row) })
	if !isPanic(err) {
		return err
	}
	if o.panicked != row.Txn {
		o.panicked, o.panics = row.Txn, 0
	}
	if o.panics++; o.panics < maxPanics {
		return err
	}
	return o.rejected(ctx, row, err)
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
		if err := b.sent(ctx, row.Room, row.Txn, sent); err != nil {
			return err
		}
		crashAfter(row, "marked")
		if row.Kind == state.KindQuestion {
			return o.room.checkWaiting(ctx, row.Task)
		}
		return nil
	case matrix.IsRejected(err):
		return o.rejected(ctx, row, err)
	case matrix.IsNotEncrypted(err), matrix.Temporary(err), ctx.Err() != nil:
		return err
	}
	if o.room.moving(ctx) && !o.goesOn(call, row) {
		return err // the row moves to the successor
	}
	if matrix.IsForbidden(err) {
		return o.forbidden(ctx, row, err)
	}
	if row.Type == event.TypeMessage {
		if err := o.unrelated(call, row, content, err); err == nil || !matrix.IsAnswer(err) || matrix.Temporary(err) {
			return err
		}
		return o.forbidden(ctx, row, err) // Dendrite says something else if it does not have the room
	}
	b.log.Warn().Err(err).Str("room", row.Room).Str("txn", row.Txn).Msg("the homeserver rejected a reaction or a redaction")
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
	if json.Unmarshal(row.Content, &c) != nil || c.Redacts != "" || c.RelatesTo.EventID != "" {
		return nil, nil
	}
	return replyOnly(row.Content, "")
}

// goesOn reports whether a refused message concerns the room itself although a tombstone is
// pending: it waits, and meanwhile the bot works as before.
func (o *outbox) goesOn(ctx context.Context, row state.Message) bool {
	r := o.room
	r.decisions.Lock()
	waits := r.stopWaiting != nil
	r.decisions.Unlock()
	if !waits || row.Type != event.TypeMessage {
		return waits
	}
	may, err := r.bot.account.MaySend(ctx, r.id, row.Type)
	return may && err == nil
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

// noteAnswered records a message of this account that is not in the journal, if it
// finished an event: a result, or a reply by tell. That happens only after the state
// directory was restored from a backup. Events since the backup arrive again, and those
// that were handled must not be handled twice: see [state.Journal.Answered].
func (b *Bot) noteAnswered(ctx context.Context, e event.Event) error {
	key, kind, _ := state.KindOfTxn(e.Transaction)
	if e.Relation().RelType == "m.replace" { // an edit of a notice
		return nil
	}
	switch kind {
	case state.KindFinal, state.KindTooLarge, state.KindReply:
	default:
		return nil
	}
	if err := b.Journal.Queue(ctx, state.Message{Txn: e.Transaction, Room: e.Room, Kind: kind, Type: e.Type, Content: json.RawMessage("{}"), Event: e.ID, Status: state.Sent}); err != nil {
		return err
	}
	if kind == state.KindReply {
		return nil
	}
	return b.room(e.Room).env.FinishAnswered(ctx, key)
}
