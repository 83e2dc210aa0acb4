package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/container"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/progress"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// maxAttempts bounds the attempts at a task whose session is gone or whose container
// goes down.
const maxAttempts = 5

// errRoomGone is the cause with which [Work.Abandon] cancels a task.
var errRoomGone = errors.New("the bot is no longer in the room")

// next says what a task does after a run.
type next int

const (
	again    next = iota // there is a new message: it runs again
	waits                // it asked a question, or is due later, and frees the worker
	answered             // its result is stored and queued
	finished             // nothing is left to do
)

// Do continues a task from its recorded state to its end, or to a question: see the
// table in the package comment. It returns an error only if it cannot write the journal
// or if ctx is done; every other failure is a result for the room.
func (w *Work) Do(ctx context.Context) (err error) {
	crash.At("picked")
	t, gone := w.task, false
	defer func() {
		if err == nil { // otherwise the run may continue
			t.env.closeModel(t.rec.Key)
			if !gone {
				t.env.SignOfLife(w.life, container.Calm)
			}
		}
	}()
	if t.rec.State == state.TaskAnswered { // before a restart
		return settlement{t}.finish(ctx)
	}
	if withdrawn(t) {
		noticed, err := t.noticed(ctx)
		if err != nil {
			return err
		}
		return t.withdraw(ctx, noticed)
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.abandon.Store(&cancel)
	defer w.abandon.Store(nil)

	for {
		out, err := w.perform(working)
		if gone = errors.Is(context.Cause(working), errRoomGone); gone {
			return giveUp(ctx, t, state.LeftWhileRunning)
		}
		if err != nil {
			return err
		}
		after, err := w.end(ctx, out)
		switch {
		case err != nil:
			return err
		case after == again:
			continue
		case after == answered:
			return settlement{t}.finish(ctx)
		}
		return nil
	}
}

// perform runs the agent, in as many attempts as needed, and shows its progress.
func (w *Work) perform(ctx context.Context) (agent.Outcome, error) {
	t, env := w.task, w.task.env
	defer env.Podman.Hold(env.Name())()
	works := env.Warm.Starts()
	defer works()
	hasSlot := t.rec.Container != "" // its run outlived the bot and continues without waiting
	lacks := ""                      // what it waits for
	switch {
	case hasSlot:
	case env.Keeper.Low(ctx):
		lacks = progress.DiskNote
	case env.Slots.TryAcquire(1):
		hasSlot = true
		defer env.Slots.Release(1)
	default:
		lacks = progress.TurnNote
	}
	shown, err := showProgress(ctx, w.life, t, lacks)
	if err != nil {
		return agent.Outcome{}, err
	}
	w.shown.Store(shown)
	defer shown.Stop()
	stoppable, cancel := w.stop.within(ctx)
	defer cancel()
	if !hasSlot {
		switch err := turn(stoppable, env, shown); {
		case err == nil:
			defer env.Slots.Release(1)
			if err := shown.Resume(ctx); err != nil {
				return agent.Outcome{}, err
			}
		case ctx.Err() != nil:
			return agent.Outcome{}, ctx.Err()
		} // else it was stopped, which needs no slot
	}
	for lost := 0; ; {
		out, err := (&attempt{task: t, shown: shown, stop: w.stop, works: works, acted: &w.acted}).do(ctx)
		var gone *lostRun
		if errors.As(err, &gone) {
			if lost++; lost < maxAttempts {
				env.Log.Warn().Err(err).Str("room", env.ID).Msg("lost the run, reattaching")
				if err := retry.Sleep(ctx, time.Duration(lost)*time.Second/2); err != nil {
					return out, err
				}
				continue
			}
			return crashed(ctx, env, gone.err)
		}
		if err != nil {
			return out, err
		}
		if out.Ended == agent.ModelGone {
			if out, err = t.replaceModel(ctx, stoppable, out); err != nil {
				return out, err
			}
		}
		another := out.Ended == agent.ModelGone || out.Ended == agent.SessionGone || out.Ended == agent.Interrupted ||
			out.Ended == agent.Overflow && !t.rec.Overflow || out.Ended == agent.HistoryRefused && !t.rec.Refused
		if !another || t.rec.Tries >= maxAttempts {
			return out, nil
		}
		if out.Ended == agent.Overflow || out.Ended == agent.HistoryRefused {
			if err := env.Room.Queue(ctx, t.Voice().newSession(out.Ended)); err != nil {
				return out, err
			}
		}
		env.Log.Info().Str("room", env.ID).Str("run", t.rec.Run).Str("ended",
			string(out.Ended)).Msg("starting another attempt")
		t.plan(out.Ended)
	}
}

// turn waits until the task may start: until the disk has space and there is a slot, which the caller releases.
func turn(ctx context.Context, env *Env, shown *progress.Notice) error {
	for {
		err := env.Keeper.AwaitSpace(ctx, func() {
			env.Log.Warn().Str("room", env.ID).Msg("the disk is almost full: the task waits")
			shown.Wait(progress.DiskNote)
		})
		if err != nil {
			return err
		}
		if !env.Slots.TryAcquire(1) {
			shown.Wait(progress.TurnNote)
			if err := env.Slots.Acquire(ctx, 1); err != nil {
				return err
			}
		}
		if !env.Keeper.Low(ctx) {
			return nil
		}
		env.Slots.Release(1)
	}
}

// end stores the outcome of a run: a question or the result. It stores nothing if there
// is a new message that the run did not receive.
func (w *Work) end(ctx context.Context, out agent.Outcome) (next, error) {
	t := w.task
	if out.Ended == agent.Unavailable {
		if rests, err := w.rest(ctx, &out); err != nil || rests {
			return waits, err
		}
	}
	for {
		steered, err := w.steered(ctx, out)
		if err != nil || steered {
			return again, err
		}
		rec, execution := t.rec, *t.exec
		after, err := w.conclude(ctx, out)
		if !errors.Is(err, errSteered) {
			return after, err
		}
		t.rec, t.exec = rec, &execution // a message arrived at the last moment: undo and look again
	}
}

// withdraw ends a task whose message was deleted before it started, and its notice.
func (t *Task) withdraw(ctx context.Context, noticed bool) error {
	if noticed {
		if err := t.env.Room.Queue(ctx, t.Voice().closing(len(t.exec.Answers), "🗑 Deleted before the task started.",
			"")); err != nil {
			return err
		}
	}
	if out := t.Voice().Unqueued(); len(out) > 0 {
		if err := t.env.Room.Queue(ctx, append(out, t.Voice().redact("-eyes"))...); err != nil {
			return err
		}
	}
	return giveUp(ctx, t, deletedEarly)
}

// conclude is one try of end. It returns errSteered if there is a new message.
func (w *Work) conclude(ctx context.Context, out agent.Outcome) (next, error) {
	t, room := w.task, w.task.env.Room
	t.env.Group.Start(func() { // do not delay the answer
		ctx, cancel := context.WithTimeout(w.life, 5*time.Second)
		defer cancel()
		_ = room.Type(ctx, 0)
	})
	noticed, err := t.noticed(ctx)
	if err != nil {
		return finished, err
	}
	if withdrawn(t) {
		return finished, t.withdraw(ctx, noticed)
	}
	out = compaction{t}.outcome(ctx, out)
	if out.Ended == agent.NeedsInput || out.Ended == agent.NeedsApproval || out.Ended == agent.Limited {
		refused, err := t.Question().ask(ctx, out, noticed, w.shown.Load())
		if err != nil || refused.Ended == "" {
			return waits, err
		}
		out = refused
	}
	noted, err := t.env.Recall.Noted(ctx, t.rec.Key)
	if err != nil {
		return finished, err
	}
	e := ending{t, out, noted}
	said, err := t.needed(ctx, e.messages(noticed, w.shown.Load()))
	if err != nil {
		return finished, err
	}
	rows := room.Render(ctx, said...)
	return answered, t.unlessSteered(ctx, func() error { return e.store(ctx, rows) })
}

// noticed reports whether the room has the notice after the newest answer, or will have it.
func (t *Task) noticed(ctx context.Context) (bool, error) {
	return t.said(ctx, noticeTxn(t.rec.Key, len(t.exec.Answers)))
}

// said reports whether the room has a message of the task, or will have it.
func (t *Task) said(ctx context.Context, txn string) (bool, error) {
	m, err := t.env.Journal.Messages.Get(ctx, txn)
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up message %s: %w", txn, err)
	}
	return m.Status != state.Refused, nil
}

const deletedEarly = "The message was deleted before the task started."

// withdrawn reports whether the task's message was redacted before the task started.
func withdrawn(t *Task) bool { return t.rec.Withdrawn && t.rec.Container == "" }

// lostRun is the error for a run that could not be followed to its end: the container
// is gone, or podman did not answer.
type lostRun struct{ err error }

func (e *lostRun) Error() string { return "follow run: " + e.err.Error() }
func (e *lostRun) Unwrap() error { return e.err }
