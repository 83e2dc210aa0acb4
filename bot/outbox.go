package bot

import (
	"context"
	"errors"
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
	o.Worker.Group = &r.bot.work
	o.Worker.Work = o.drain
}

func (o *outbox) drain() {
	b := o.room.bot
	ctx := b.ctx
	for again := retry.New(time.Second, 30*time.Second); ctx.Err() == nil; {
		row, err := b.Journal.Messages.Next(ctx, o.room.id)
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
	err := o.room.bot.work.Guard(row.Room, "sending a message", func() error { return o.send(ctx, row) })
	if !queue.IsPanic(err) {
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
	resolved, ok, err := o.resolve(ctx, row)
	if err != nil {
		return err
	}
	if !ok {
		return b.Journal.Messages.MarkRefused(ctx, row.Txn, "its original was not sent")
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	sent, err := b.account.Send(call, resolved)
	switch {
	case err == nil:
		crashAfter(row, "sent")
		if err := b.sent(ctx, row.Room, row.Txn, sent); err != nil {
			return err
		}
		crashAfter(row, "marked")
		if row.Kind == state.KindQuestion {
			return o.room.turn.Look(ctx, row.Task)
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
	if row.Says() {
		if err := o.unrelated(call, row, err); err == nil || !matrix.IsAnswer(err) || matrix.Temporary(err) {
			return err
		}
		return o.forbidden(ctx, row, err) // Dendrite says something else if it does not have the room
	}
	b.log.Warn().Err(err).Str("room", row.Room).Str("txn", row.Txn).Msg("the homeserver rejected a reaction or a redaction")
	return b.Journal.Messages.MarkRefused(ctx, row.Txn, err.Error())
}

// resolve returns the row with the event of the message that it is about. If that message was never sent, a reply
// becomes a plain message, and anything else, such as an edit, cannot be sent.
func (o *outbox) resolve(ctx context.Context, row state.Message) (resolved state.Message, ok bool, err error) {
	if row.About == "" {
		return row, true, nil
	}
	original, err := o.room.bot.Journal.Messages.Get(ctx, row.About)
	switch {
	case err != nil && !errors.Is(err, state.ErrNotFound):
		return row, false, err
	case err == nil && original.Room == row.Room && original.Event != "":
		row.Target = original.Event
	case row.Relation != state.Reply:
		return row, false, nil
	default:
		row.Relation = ""
	}
	return row, true, nil
}

// goesOn reports whether a refused message concerns the room itself although a tombstone is
// pending: it waits, and meanwhile the bot works as before.
func (o *outbox) goesOn(ctx context.Context, row state.Message) bool {
	r := o.room
	r.turn.Lock()
	waits := r.stopWaiting != nil
	r.turn.Unlock()
	if !waits || !row.Says() {
		return waits
	}
	may, err := r.bot.account.MaySend(ctx, r.id, event.TypeMessage)
	return may && err == nil
}

// moving reports whether a tombstone of the room is pending.
func (r *room) moving(ctx context.Context) bool {
	_, err := r.bot.Journal.Events.PendingType(ctx, r.id, event.TypeTombstone)
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
// that were handled must not be handled twice: see [state.Messages.Answered].
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
	if err := b.Journal.Messages.Queue(ctx, state.Message{Txn: e.Transaction, Room: e.Room, Kind: kind, Event: e.ID, Status: state.Sent}); err != nil {
		return err
	}
	if kind == state.KindReply {
		return nil
	}
	return b.room(e.Room).env.FinishAnswered(ctx, key)
}
