package task

import (
	"context"
	"errors"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// maxAttempts bounds how often a task is begun again because its session was
// gone or its container went down.
const maxAttempts = 5

// errRoomGone is why a task is left without a word: see [Work.Abandon].
var errRoomGone = errors.New("the bot is no longer in the room")

// next says what a task does after a run.
type next int

const (
	again    next = iota // it was told something new: it runs again
	waits                // it asked, and leaves the worker until it is answered
	answered             // its result is stored and queued
	finished             // nothing is left to do
)

// Do continues a task from its recorded state to its end, or to a question: see the
// table in the package comment. An error means that the journal or state.json
// could not be written, or that ctx has ended; all else is a result.
func (w *Work) Do(ctx context.Context) error {
	crash.At("picked")
	t := w.task
	if t.rec.State == state.TaskAnswered { // in a former life
		return settlement{t}.finish(ctx)
	}
	if withdrawn(t) {
		return giveUp(ctx, t, deletedEarly)
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.abandon.Store(&cancel)
	defer w.abandon.Store(nil)

	for {
		out, err := w.perform(working)
		if errors.Is(context.Cause(working), errRoomGone) {
			return giveUp(ctx, t, "The bot left the room while the task was running.")
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

// perform has the task done, in as many attempts as it takes, while the room
// sees how far it is.
func (w *Work) perform(ctx context.Context) (agent.Outcome, error) {
	t, env := w.task, w.task.env
	hasSlot := t.rec.Container != "" // its run outlived the bot: it goes on, whoever else is waiting
	if !hasSlot && env.Slots.TryAcquire(1) {
		hasSlot = true
		defer env.Slots.Release(1)
	}
	shown, err := showProgress(ctx, w.life, t, !hasSlot)
	if err != nil {
		return agent.Outcome{}, err
	}
	w.shown.Store(shown)
	defer shown.stop()
	stoppable, cancel := w.stop.within(ctx)
	defer cancel()
	if !hasSlot {
		switch err := env.Slots.Acquire(stoppable, 1); {
		case err == nil:
			defer env.Slots.Release(1)
			if err := shown.resume(ctx); err != nil {
				return agent.Outcome{}, err
			}
		case ctx.Err() != nil:
			return agent.Outcome{}, ctx.Err()
		} // else it was told to stop: that takes no slot
	}
	for lost := 0; ; {
		out, err := (&attempt{task: t, shown: shown, stop: w.stop, acted: &w.acted}).do(ctx)
		var gone *lostRun
		if errors.As(err, &gone) {
			if lost++; lost < maxAttempts {
				env.Log.Warn().Err(err).Str("room", env.ID).Msg("looking for the run again")
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
		another := out.Ended == agent.SessionGone || out.Ended == agent.Interrupted
		if !another || t.rec.Tries >= maxAttempts {
			return out, nil
		}
		env.Log.Info().Str("room", env.ID).Str("run", t.rec.Run).Str("ended", string(out.Ended)).Msg("another attempt")
		t.plan(out.Ended)
	}
}

// end stores what came of a run: a question, or the result. Nothing is stored
// when the task was told something that the run has not heard.
func (w *Work) end(ctx context.Context, out agent.Outcome) (next, error) {
	t := w.task
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
		t.rec, t.exec = rec, &execution // told in the last moment
	}
}

// conclude is end, once. It is errSteered when the task was told something new.
func (w *Work) conclude(ctx context.Context, out agent.Outcome) (next, error) {
	t, room := w.task, w.task.env.Room
	t.env.Start(func() { // the answer does not wait for it
		ctx, cancel := context.WithTimeout(w.life, 5*time.Second)
		defer cancel()
		_ = room.Type(ctx, 0)
	})
	if withdrawn(t) {
		if err := room.Queue(ctx, t.Voice().closing(0, "🗑 Taken back before it began.")); err != nil {
			return finished, err
		}
		return finished, giveUp(ctx, t, deletedEarly)
	}
	if out.Ended == agent.NeedsInput || out.Ended == agent.NeedsApproval {
		refused, err := t.Question().ask(ctx, out)
		if err != nil || refused.Ended == "" {
			return waits, err
		}
		out = refused
	}
	e := ending{t, out}
	last := t.Voice().closing(len(t.exec.Answers), e.summary(w.shown.Load()))
	rows := room.Render(ctx, e.messages(ctx, last)...)
	return answered, t.unlessSteered(ctx, func() error { return e.store(ctx, rows) })
}

const deletedEarly = "The message was deleted before the task started."

// withdrawn tells a task whose message was taken back before it began.
func withdrawn(t *Task) bool { return t.rec.Withdrawn && t.rec.Container == "" }

// lostRun is a run that could not be followed to its end: its container may be
// gone, or only podman's answer.
type lostRun struct{ err error }

func (e *lostRun) Error() string { return "lose sight of run: " + e.err.Error() }
func (e *lostRun) Unwrap() error { return e.err }
