package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/queue"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

// syncTimeout is how long the homeserver may hold a /sync request open.
const syncTimeout = 30 * time.Second

// follow syncs until ctx ends. It retries while the homeserver is unreachable.
func (b *Bot) follow(ctx context.Context) error {
	for {
		if err := b.syncOnce(ctx, syncTimeout); err != nil {
			return err
		}
	}
}

// syncOnce stores one batch in the journal, retrying as often as necessary, and
// wakes the rooms with new events.
func (b *Bot) syncOnce(ctx context.Context, hold time.Duration) error {
	for again := retry.New(250*time.Millisecond, 10*time.Second); ; {
		err := b.trySync(ctx, hold)
		hold = 0 // after a failure, get an answer at once
		switch {
		case err == nil:
			b.synced.Open()
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, matrix.ErrInterrupted):
		case errors.As(err, new(*notReadyError)):
			return err
		case matrix.IsUnknownToken(err):
			if err := b.account.Login(ctx); err != nil {
				return err
			}
			b.log.Info().Msg("logged in again")
		default:
			pause := again.Next()
			b.log.Warn().Err(err).Dur("again_in_ms", pause).Msg("sync failed, retrying")
			if err := retry.Sleep(ctx, pause); err != nil {
				return err
			}
		}
	}
}

func (b *Bot) trySync(ctx context.Context, hold time.Duration) error {
	b.worked.Open()
	last, err := b.Journal.Events.NextBatch(ctx)
	if err != nil {
		return fmt.Errorf("read sync token: %w", err)
	}
	if last != "" && !b.checked {
		b.checkServer(ctx)
	}
	since := last
	if b.startOver.Load() {
		since = ""
	}
	batch, err := b.account.Sync(ctx, since, hold)
	if err != nil {
		if since != "" && matrix.IsTokenRejected(err) {
			b.log.Warn().Err(err).Msg("the homeserver rejects the sync token: starting over with an initial sync")
			b.startOver.Store(true)
		}
		b.checked = b.checked && errors.Is(err, matrix.ErrInterrupted)
		return err
	}
	if !b.work.Open.Load() {
		b.answered = batch.Took
	}
	if err := b.admit(ctx, batch, last); err != nil {
		return err
	}
	if since == "" {
		b.startOver.Store(false)
	}
	return nil
}

// admit stores a batch: one transaction holds its events and the next sync token. The
// rooms then work from the journal. last is the token of the batch before, or "".
func (b *Bot) admit(ctx context.Context, batch *matrix.Sync, last string) error {
	before, err := b.account.Keys.KnownEncrypted(ctx, batch)
	if err != nil {
		return err
	}
	if err := b.account.Keys.Process(ctx, batch); err != nil {
		return err
	}
	now, err := b.account.Keys.KnownEncrypted(ctx, batch)
	if err != nil {
		return err
	}
	b.roster.Note(batch)
	in := &admission{bot: b}
	read, err := b.read(ctx, batch, last, before, now)
	if err != nil {
		return err
	}
	next := state.Batch{Next: batch.Next, Gaps: read.Gaps}
	if batch.Since == "" {
		if err := b.replaceAll(ctx, batch, last, &next); err != nil {
			return err
		}
	}
	for _, e := range read.Events {
		in.add(ctx, e)
	}
	for name, invite := range batch.Invited {
		in.rows = append(in.rows, syntheticEvent(name, event.TypeInvite, invite.Sender, batch.Next, invite.Body))
		next.Closes = append(next.Closes, name)
	}
	for _, name := range batch.Left {
		in.rows = append(in.rows, syntheticEvent(name, event.TypeGone, b.UserID(), batch.Next, event.Body{}))
		next.Closes = append(next.Closes, name)
	}
	if err := in.settle(ctx); err != nil {
		return err
	}
	next.Events = in.rows
	if b.Rehearsal { // what is stored now would not be acted on: the process that follows reads it again
		return &notReadyError{b.beReady()}
	}
	fresh, err := b.Journal.Events.CommitBatch(ctx, next)
	if err != nil {
		b.alarmRooms(ctx, in.rows, err)
		return fmt.Errorf("commit sync batch: %w", err)
	}
	crashIfTask(fresh, "committed")
	if err := b.beReady(); err != nil {
		return &notReadyError{err}
	}
	b.receipts.Note(ctx, fresh)
	b.expectTasks(batch)
	if len(next.Gaps) > 0 {
		var gaps, busy []string
		for _, gap := range next.Gaps {
			gaps = append(gaps, gap.Room)
		}
		for _, row := range fresh {
			if row.Status == state.Pending {
				busy = append(busy, row.Room)
			}
		}
		b.wakeGaps(gaps, busy)
	}
	if b.work.Open.Load() {
		for _, name := range next.Closes {
			b.room(name).gapClosed()
		}
	}
	for _, name := range read.Short {
		b.room(name).unreadBefore(ctx, batch.Next)
	}
	in.finish(ctx, fresh)
	return b.account.Keys.AfterCommit(ctx, batch)
}

// examine decrypts a new event and decides what it is to the bot; one that is not fresh is context.
// One that panics here is left to its room's worker, which counts that.
func (b *Bot) examine(ctx context.Context, e event.Event, fresh bool) (row state.Event) {
	b.worked.Open()
	b.profile.Note(ctx, e)
	row.Event = e
	err := queue.Recovered(func() error {
		row.Event = b.understood(b.account.Keys.Decrypt(ctx, e))
		if fresh {
			row = b.judged(ctx, row)
		}
		return nil
	})
	if panicked := (*queue.PanicError)(nil); errors.As(err, &panicked) {
		b.log.Error().Str("room", e.Room).Str("event", e.ID).Bytes("stack", panicked.Stack).Msg("panic while reading an event")
	}
	if !fresh {
		row.Kind = event.KindContext
	}
	return row
}

// isOwnEdit reports whether an event is one of our own edits, which the journal does not
// keep: they are the progress of tasks, there are many, and nothing refers to them.
func (b *Bot) isOwnEdit(e event.Event) bool {
	return b.isSelf(e.Sender) && e.Relation().RelType == "m.replace"
}

// beReady calls Ready after the first batch.
func (b *Bot) beReady() error {
	if b.work.Open.Load() || b.Ready == nil {
		return nil
	}
	return b.Ready()
}

// notReadyError means that Ready failed and the bot must stop.
type notReadyError struct{ error }

func (e *notReadyError) Unwrap() error { return e.error }

// alarmRooms tells the rooms with new messages that these cannot be stored yet.
func (b *Bot) alarmRooms(ctx context.Context, rows []state.Event, err error) {
	for _, row := range rows {
		if row.Status == state.Pending && (row.Spoken() || row.Undecrypted()) && ctx.Err() == nil {
			b.room(row.Room).alarm(ctx, err)
		}
	}
}

// dispatch wakes the room of a new pending row.
func (b *Bot) dispatch(row state.Event) {
	b.worked.Open()
	if row.Status != state.Pending {
		return
	}
	r := b.room(row.Room)
	if row.Type == event.TypeGone && !b.upgrades.Moves(row.Room) {
		r.turn.Abandon()
	}
	r.wake()
}

// crashIfTask is the crash point after a batch with a message was stored.
func crashIfTask(fresh []state.Event, point string) {
	for _, row := range fresh {
		if row.Status == state.Pending && row.Type == "m.room.message" {
			crash.At(point)
		}
	}
}
