package admit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/outbox"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

// SyncTimeout is how long the homeserver may hold a /sync request open.
const SyncTimeout = 30 * time.Second

// Follow syncs until ctx ends. It retries while the homeserver is unreachable.
func (a *Admission) Follow(ctx context.Context) error {
	for {
		if err := a.Sync(ctx, SyncTimeout); err != nil {
			return err
		}
	}
}

// Sync stores one batch in the journal, retrying as often as necessary, and
// wakes the rooms with new events. The homeserver may hold the request open for a while.
func (a *Admission) Sync(ctx context.Context, hold time.Duration) error {
	for again := retry.New(250*time.Millisecond, 10*time.Second); ; {
		err := a.try(ctx, hold)
		hold = 0 // after a failure, get an answer at once
		switch {
		case err == nil:
			a.Synced.Open()
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, matrix.ErrInterrupted):
		case errors.As(err, new(*notReadyError)):
			return err
		case matrix.IsUnknownToken(err):
			if err := a.Account.Login(ctx); err != nil {
				return err
			}
			a.Group.Log.Info().Msg("logged in again")
		default:
			pause := again.Next()
			a.Group.Log.Warn().Err(err).Dur("again_in_ms", pause).Msg("sync failed, retrying")
			if err := retry.Sleep(ctx, pause); err != nil {
				return err
			}
		}
	}
}

func (a *Admission) try(ctx context.Context, hold time.Duration) error {
	a.Worked.Open()
	last, err := a.Journal.Events.NextBatch(ctx)
	if err != nil {
		return fmt.Errorf("read sync token: %w", err)
	}
	if last != "" && !a.checked {
		a.checkServer(ctx)
	}
	since := last
	if a.startOver.Load() {
		since = ""
	}
	batch, err := a.Account.Sync(ctx, since, hold)
	if err != nil {
		if since != "" && matrix.IsTokenRejected(err) {
			a.Group.Log.Warn().Err(err).Msg("the homeserver rejects the sync token: starting over with an initial sync")
			a.startOver.Store(true)
		}
		a.checked = a.checked && errors.Is(err, matrix.ErrInterrupted)
		return err
	}
	if !a.Group.Open.Load() {
		a.Took = batch.Took
	}
	if err := a.admit(ctx, batch, last); err != nil {
		return err
	}
	if since == "" {
		a.startOver.Store(false)
	}
	return nil
}

// admit stores a batch: one transaction holds its events and the next sync token. The
// rooms then work from the journal. last is the token of the batch before, or "".
func (a *Admission) admit(ctx context.Context, batch *matrix.Sync, last string) error {
	before, err := a.Account.Keys.KnownEncrypted(ctx, batch)
	if err != nil {
		return err
	}
	if err := a.Account.Keys.Process(ctx, batch); err != nil {
		return err
	}
	now, err := a.Account.Keys.KnownEncrypted(ctx, batch)
	if err != nil {
		return err
	}
	a.Roster.Note(batch)
	read, err := a.read(ctx, batch, last, before, now)
	if err != nil {
		return err
	}
	next := state.Batch{Next: batch.Next, Gaps: read.Gaps}
	if batch.Since == "" {
		if err := a.replaceAll(ctx, batch, &next); err != nil {
			return err
		}
	}
	if next.Events, err = a.rows(ctx, read.Events); err != nil {
		return err
	}
	for name, invite := range batch.Invited {
		next.Events = append(next.Events, Synthetic(name, event.TypeInvite, invite.Sender, batch.Next, invite.Body))
		next.Closes = append(next.Closes, name)
	}
	for _, name := range batch.Left {
		next.Events = append(next.Events, Synthetic(name, event.TypeGone, a.Account.UserID(), batch.Next, event.Body{}))
		next.Closes = append(next.Closes, name)
	}
	if a.Rehearsal { // what is stored now would not be acted on: the process that follows reads it again
		return &notReadyError{a.beReady()}
	}
	fresh, err := a.commit(ctx, next, batch.Since == "" && last != "")
	if err != nil {
		return err
	}
	if slices.ContainsFunc(fresh, func(row state.Event) bool {
		return row.Status == state.Pending && row.Type == event.TypeMessage
	}) {
		crash.At("committed")
	}
	if err := a.beReady(); err != nil {
		return &notReadyError{err}
	}
	a.Receipts.Note(ctx, fresh)
	a.expect(batch)
	var limited, busy []string
	for _, gap := range next.Gaps {
		limited = append(limited, gap.Room)
	}
	for _, row := range fresh {
		if row.Status == state.Pending {
			busy = append(busy, row.Room)
		}
	}
	a.wakeGaps(limited, busy)
	if a.Group.Open.Load() {
		for _, name := range next.Closes {
			a.Rooms.Wake(name)
		}
	}
	for _, name := range read.Short {
		a.queue(ctx, outbox.Notice(name, state.KindUnread, state.Hash(name+"\x00"+batch.Next)+"-unread",
			"⚠️ I could not read everything that was written here before I joined. If you sent me something, send it again."))
	}
	a.finish(ctx, fresh)
	return a.Account.Keys.AfterCommit(ctx, batch)
}

// commit commits a batch. The owners are told afterwards if it starts over: a batch that fails comes again.
func (a *Admission) commit(ctx context.Context, next state.Batch, startsOver bool) (fresh []state.Event, err error) {
	fresh, err = a.Journal.Events.CommitBatch(ctx, next)
	if err != nil {
		a.alarm(ctx, next.Events, err)
		return nil, fmt.Errorf("commit sync batch: %w", err)
	}
	if startsOver {
		a.Watch.Note(startedOver)
	}
	return fresh, nil
}

// expect tells the rooms who types, and where somebody who may use the bot has begun to or has read something.
func (a *Admission) expect(batch *matrix.Sync) {
	if !a.Group.Open.Load() || batch.Since == "" {
		return
	}
	for name, joined := range batch.Joined {
		_ = a.Group.Guard(name, "expecting a task", func() error {
			expected := slices.ContainsFunc(joined.Present,
				func(user string) bool { return !a.isSelf(user) && a.Roster.Hears(name, user) })
			a.Rooms.Present(name, joined.Typing, expected)
			return nil
		})
	}
}

// beReady calls Ready after the first batch.
func (a *Admission) beReady() error {
	if a.Group.Open.Load() || a.Ready == nil {
		return nil
	}
	return a.Ready()
}

// notReadyError means that Ready failed and the bot must stop.
type notReadyError struct{ error }

func (e *notReadyError) Unwrap() error { return e.error }

// alarm tells the rooms with new messages that these cannot be stored yet.
func (a *Admission) alarm(ctx context.Context, rows []state.Event, err error) {
	for _, row := range rows {
		if row.Status == state.Pending && (row.Spoken() || row.Undecrypted()) && ctx.Err() == nil {
			a.Rooms.Alarm(ctx, row.Room, err)
		}
	}
}
