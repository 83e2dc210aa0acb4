// Package outbox sends what the bot says: each room has a queue of messages, which are rows of the journal before they
// are sent. Nothing is lost, nothing is sent twice, and the order stays. It builds answers and notices, and says what
// becomes of a message that the homeserver does not take. It never decides what to say.
package outbox

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/queue"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

// Shared is what the outboxes of all rooms share.
type Shared struct {
	Journal *state.Journal
	Account *matrix.Account
	Synced  *queue.Gate // opened after each committed sync
	Group   *queue.Group

	underWay atomic.Int64 // messages up to this Seq are from the process before this one
}

// Questions hears what becomes of the messages that ask a task's questions. It is an interface because tasks queue
// their messages here.
type Questions interface {
	// Look is called when a question of the task with a key was sent.
	Look(ctx context.Context, key string) error
	// CannotAsk is called if question n of the task with a key can never be shown.
	CannotAsk(ctx context.Context, key string, n int) error
}

// Room sends a room's queued messages in order, each exactly once. The row
// exists before the message is sent, carries its transaction ID and is marked
// afterwards. If the homeserver's answer is lost, it waits for the next
// sync: a message that was accepted comes back with its transaction ID, which
// marks its row. It also waits for a gap that may contain such an echo, and after a
// restart, because the process may have died while it was sending.
type Room struct {
	*Shared
	ID string

	questions Questions
	worker    queue.Worker
	awaited   bool                    // the echo of a message from before a restart
	panicked  string                  // transaction ID of the message whose sending has panicked most recently
	panics    int                     // how often
	refused   map[state.Relation]bool // what the bot may not send here
}

// Room returns the outbox of a room.
func (s *Shared) Room(id string, questions Questions) *Room {
	r := &Room{Shared: s, ID: id, questions: questions}
	r.worker = queue.Worker{Group: s.Group, Work: r.drain}
	return r
}

// Wake sends what was stored without Queue.
func (r *Room) Wake() { r.worker.Wake() }

func (r *Room) drain() {
	ctx := r.Group.Context
	for again := retry.New(time.Second, 30*time.Second); ctx.Err() == nil; {
		row, err := r.Journal.Messages.Next(ctx, r.ID)
		if errors.Is(err, state.ErrNotFound) {
			return
		}
		if err == nil {
			if r.awaitEcho(ctx, row) {
				continue
			}
			coming := r.Synced.Coming()
			err = r.attempt(ctx, row)
			if err != nil && matrix.Ambiguous(err) {
				r.afterSync(ctx, coming, again.Next())
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
		r.Group.Log.Warn().Err(err).Str("room", r.ID).Dur("again_in_ms", pause).Msg("cannot send the message, retrying")
		if retry.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// afterSync waits for a sync that began after the send, so that the echo of an
// accepted message has marked its row, and then for pause.
func (r *Room) afterSync(ctx context.Context, coming <-chan struct{}, pause time.Duration) {
	r.Account.SyncNow()
	select {
	case <-coming:
	case <-ctx.Done():
		return
	}
	_ = retry.Sleep(ctx, pause)
}

// maxPanics is how often sending a message may end in a panic before it is given up.
const maxPanics = 2

// attempt is send. If that panics, it is tried again as after any error; the second time
// a sentence takes the message's place.
func (r *Room) attempt(ctx context.Context, row state.Message) error {
	err := r.Group.Guard(r.ID, "sending a message", func() error { return r.send(ctx, row) })
	if !queue.IsPanic(err) {
		return err
	}
	if r.panicked != row.Txn {
		r.panicked, r.panics = row.Txn, 0
	}
	if r.panics++; r.panics < maxPanics {
		return err
	}
	return r.rejected(ctx, row, err)
}

// send sends one row and marks it. An error means that the message was not sent,
// as far as we know.
func (r *Room) send(ctx context.Context, row state.Message) error {
	resolved, ok, err := r.resolve(ctx, row)
	if err != nil {
		return err
	}
	if !ok {
		return r.Journal.Messages.MarkRefused(ctx, row.Txn, "its original was not sent")
	}
	call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
	defer cancel()
	sent, err := r.Account.Messages.Send(call, resolved)
	switch {
	case err == nil:
		crashAfter(row, "sent")
		if err := r.Sent(ctx, row.Txn, sent); err != nil {
			return err
		}
		crashAfter(row, "marked")
		if row.Kind == state.KindQuestion {
			return r.questions.Look(ctx, row.Task)
		}
		return nil
	case matrix.IsRejected(err):
		return r.rejected(ctx, row, err)
	case matrix.IsNotEncrypted(err), matrix.Temporary(err), ctx.Err() != nil:
		return err
	}
	if r.waits(call, row) {
		return err // the row moves to the successor
	}
	if matrix.IsForbidden(err) {
		return r.forbidden(ctx, row, err)
	}
	if row.Says() {
		if err := r.unrelated(call, row, err); err == nil || !matrix.IsAnswer(err) || matrix.Temporary(err) {
			return err
		}
		return r.forbidden(ctx, row, err) // Dendrite says something else if it does not have the room
	}
	r.Group.Log.Warn().Err(err).Str("room", row.Room).Str("txn", row.Txn).
		Msg("the homeserver rejected a reaction or a redaction")
	return r.Journal.Messages.MarkRefused(ctx, row.Txn, err.Error())
}

// resolve returns the row with the event of the message that it is about. If that message was never sent, a reply
// becomes a plain message, and anything else, such as an edit, cannot be sent.
func (r *Room) resolve(ctx context.Context, row state.Message) (resolved state.Message, ok bool, err error) {
	if row.About == "" {
		return row, true, nil
	}
	original, err := r.Journal.Messages.Get(ctx, row.About)
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

// waits reports whether a refused message waits, because a tombstone of the room is pending and the bot may not speak
// here any more.
func (r *Room) waits(ctx context.Context, row state.Message) bool {
	if _, err := r.Journal.Events.PendingType(ctx, r.ID, event.TypeTombstone); err != nil || !row.Says() {
		return false
	}
	may, err := r.Account.Rooms.MaySend(ctx, r.ID, event.TypeMessage)
	return err != nil || !may
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
