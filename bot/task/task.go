package task

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/state"
	"matrix-tui/state/retry"
	"matrix-tui/workspace"
)

// maxAttempts bounds how often a task is begun again because its session was
// gone or its container went down.
const maxAttempts = 5

// errRoomGone is why a task is left without a word: see [Work.Abandon].
var errRoomGone = errors.New("the bot is no longer in the room")

// Work is one task that the room's worker has taken up.
type Work struct {
	*Task
	life   context.Context // ends with the bot
	quoted *workspace.Quote
	who    []workspace.Text // the agent's persona
	fresh  bool             // the container is replaced where there is a newer image
	noted  int              // tool calls that a former life has put into the transcript

	acted    atomic.Bool   // the agent has called a tool
	lastPart atomic.Int64  // when the newest message that belongs to the task was written, ms
	left     chan struct{} // closed when the worker is done with it

	// stopping ends when somebody wants the task to end, or to hear something new.
	stopping context.Context

	mu      sync.Mutex
	stopNow context.CancelFunc
	abandon context.CancelCauseFunc // nil unless it is worked on
	shown   *progress               // what the room sees of it, nil before it sees anything
}

// next is where a task stands after a run.
type next int

const (
	again    next = iota // it was told something new: it runs again
	waits                // it asked, and leaves the worker until it is answered
	answered             // its result is stored and queued
	finished             // nothing is left to do
)

// Do takes a task from where it stands to its end, or to a question: see the
// table in the package comment. An error means that the journal or state.json
// could not be written, or that ctx has ended; all else is a result.
func (w *Work) Do(ctx context.Context) error {
	crash.At("picked")
	if w.rec.State == state.TaskAnswered { // in a former life
		return w.settle(ctx)
	}
	if w.withdrawn() {
		return w.giveUp(ctx, takenBack)
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.setAbandon(cancel)
	defer w.setAbandon(nil)

	for {
		out, err := w.perform(working)
		if errors.Is(context.Cause(working), errRoomGone) {
			return w.giveUp(ctx, "The room was left while the task ran.")
		}
		if err != nil {
			return err
		}
		stands, err := w.end(ctx, out)
		switch {
		case err != nil:
			return err
		case stands == again:
			continue
		case stands == answered:
			return w.settle(ctx)
		}
		return nil
	}
}

// perform has the task done, in as many attempts as it takes, while the room
// sees how far it is.
func (w *Work) perform(ctx context.Context) (agent.Outcome, error) {
	free := w.env.Slots.TryAcquire(1)
	if free {
		defer w.env.Slots.Release(1)
	}
	shown, err := w.showProgress(ctx, !free)
	if err != nil {
		return agent.Outcome{}, err
	}
	w.show(shown)
	defer shown.stop()
	stoppable, cancel := w.stoppable(ctx)
	defer cancel()
	if !free {
		switch err := w.env.Slots.Acquire(stoppable, 1); {
		case err == nil:
			defer w.env.Slots.Release(1)
			if err := shown.resume(ctx); err != nil {
				return agent.Outcome{}, err
			}
		case ctx.Err() != nil:
			return agent.Outcome{}, ctx.Err()
		} // else it was told to stop: that takes no slot
	}
	for lost := 0; ; {
		out, err := w.attempt(ctx)
		var gone *lostRun
		if errors.As(err, &gone) {
			if lost++; lost < maxAttempts {
				w.env.Log.Warn().Err(err).Str("room", w.env.ID).Msg("looking for the run again")
				if err := retry.Sleep(ctx, time.Duration(lost)*time.Second/2); err != nil {
					return out, err
				}
				continue
			}
			return w.trouble(ctx, gone.err)
		}
		if err != nil {
			return out, err
		}
		another := out.Ended == agent.SessionGone || out.Ended == agent.Interrupted
		if !another || w.rec.Tries >= maxAttempts {
			return out, nil
		}
		w.env.Log.Info().Str("room", w.env.ID).Str("run", w.rec.Run).Str("ended", string(out.Ended)).Msg("another attempt")
		w.plan(out.Ended)
	}
}

// end stores what came of a run: a question, or the result. Nothing is stored
// when the task was told something that the run has not heard.
func (w *Work) end(ctx context.Context, out agent.Outcome) (next, error) {
	for {
		steered, err := w.steered(ctx, out)
		if err != nil || steered {
			return again, err
		}
		rec, execution := w.rec, *w.exec
		stands, err := w.conclude(ctx, out)
		if !errors.Is(err, errSteered) {
			return stands, err
		}
		w.rec, w.exec = rec, &execution // told in the last moment
	}
}

// conclude is end, once. It is errSteered when the task was told something new.
func (w *Work) conclude(ctx context.Context, out agent.Outcome) (next, error) {
	w.untype()
	if w.withdrawn() {
		if err := w.env.Room.Queue(ctx, w.closing(0, "🗑 Taken back before it began.")); err != nil {
			return finished, err
		}
		return finished, w.giveUp(ctx, takenBack)
	}
	if out.Ended == agent.NeedsInput || out.Ended == agent.NeedsApproval {
		refused, err := w.ask(ctx, out)
		if err != nil || refused.Ended == "" {
			return waits, err
		}
		out = refused
	}
	return answered, w.answer(ctx, out)
}

const takenBack = "The message was taken back before the task began."

// withdrawn tells a task whose message was taken back before it began.
func (w *Work) withdrawn() bool { return w.rec.Withdrawn && w.rec.Container == "" }

// lostRun is a run that could not be followed to its end: its container may be
// gone, or only podman's answer.
type lostRun struct{ err error }

func (e *lostRun) Error() string { return "lose sight of run: " + e.err.Error() }
func (e *lostRun) Unwrap() error { return e.err }
