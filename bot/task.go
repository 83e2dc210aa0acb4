package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"matrix-tui/agent"
	"matrix-tui/state"
	"matrix-tui/state/retry"
	"matrix-tui/workspace"
)

// maxAttempts bounds how often a task is begun again because its session was
// gone or its box went down.
const maxAttempts = 5

// lostRun is a run that could not be followed to its end: its box may be gone,
// or only podman's answer.
type lostRun struct{ err error }

func (e *lostRun) Error() string { return "lose sight of run: " + e.err.Error() }
func (e *lostRun) Unwrap() error { return e.err }

// task is one task at work.
type task struct {
	*room
	taken  state.Task       // as it was when it was taken up: it never changes, so that others may read it
	rec    state.Task       // as it is to be stored, with what row adds; its own worker's alone
	exec   *agent.Execution // its state machine
	text   string           // as the agent reads it
	shown  *progress
	quoted *workspace.Quote // what it replies to
	who    []workspace.Text // the agent's persona
	fresh  bool             // the box is taken anew where there is a newer image
	noted  int              // tool calls that a former life has put into the transcript

	// stopping ends when somebody wants the task to end; see [room.current].
	stopping context.Context
	stopNow  context.CancelFunc
	left     chan struct{} // closed when the lane is done with it
	acted    atomic.Bool   // the agent has called a tool
	lastPart atomic.Int64  // when the newest message that belongs to the task was written, ms
}

// doTask takes a task from where it stands to its end, or to a question.
// An error means that our own books could not be kept; everything else is an
// answer.
func (r *room) doTask(ctx context.Context, t *task) error {
	defer r.leave(t)
	crash("picked")
	if t.rec.State == state.TaskAnswered {
		return t.settle(ctx)
	}
	if t.withdrawn() {
		return t.giveUp(ctx, takenBack)
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.setCancel(cancel)
	defer r.setCancel(nil)

	for {
		out, err := t.perform(working)
		if errors.Is(context.Cause(working), errRoomGone) {
			return t.giveUp(ctx, "The room was left while the task ran.")
		}
		if err != nil {
			return err
		}
		err = t.end(ctx, out)
		if !errors.Is(err, errSteered) {
			return err
		}
	}
}

// begin is pending → running, where that has not been.
func (t *task) begin() {
	if t.exec.State == agent.Pending {
		_ = t.exec.Start(time.Now()) // from pending there is no other way
	}
}

// show makes p what the room sees of the task.
func (t *task) show(p *progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown = p
}

// showing is what the room sees of the task, nil before it sees anything.
func (t *task) showing() *progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shown
}

func (r *room) setCancel(cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = cancel
}

// perform has the task done, in as many attempts as it takes, while the room
// sees how far it is.
func (t *task) perform(ctx context.Context) (agent.Outcome, error) {
	free := t.bot.slots.TryAcquire(1)
	if free {
		defer t.bot.slots.Release(1)
	}
	shown, err := t.showProgress(ctx, !free)
	if err != nil {
		return agent.Outcome{}, err
	}
	t.show(shown)
	defer shown.stop()
	stoppable, cancel := t.stoppable(ctx)
	defer cancel()
	if !free {
		switch err := t.bot.slots.Acquire(stoppable, 1); {
		case err == nil:
			defer t.bot.slots.Release(1)
			if err := shown.resume(ctx); err != nil {
				return agent.Outcome{}, err
			}
		case ctx.Err() != nil:
			return agent.Outcome{}, ctx.Err()
		} // else it was told to stop: that takes no slot
	}
	for lost := 0; ; {
		out, err := t.attempt(ctx)
		var gone *lostRun
		if errors.As(err, &gone) {
			if lost++; lost < maxAttempts {
				t.bot.log.Warn().Err(err).Str("room", t.id).Msg("looking for the run again")
				if err := retry.Sleep(ctx, time.Duration(lost)*time.Second/2); err != nil {
					return out, err
				}
				continue
			}
			return t.trouble(ctx, gone.err)
		}
		if err != nil {
			return out, err
		}
		again := out.Ended == agent.SessionGone || out.Ended == agent.Interrupted
		if !again || t.rec.Tries >= maxAttempts {
			return out, nil
		}
		t.bot.log.Info().Str("room", t.id).Str("run", t.rec.Run).Str("ended", string(out.Ended)).Msg("another attempt")
		t.plan(out.Ended)
	}
}

// runTime is how long one run may take.
func (t *task) runTime() time.Duration { return cmp.Or(t.rules().Timeout, t.bot.CodingTimeout) }

// patience is how long a question of the task waits.
func (t *task) patience() time.Duration {
	return cmp.Or(t.rules().QuestionTimeout, t.bot.ExecutionTimeout)
}

// plan makes the record of the next attempt from the end of the last one.
func (t *task) plan(last agent.Ended) {
	now := time.Now().UTC()
	t.rec.Attempt++
	t.rec.Tries++
	t.rec.Run = fmt.Sprintf("%s-%d", t.rec.Key, t.rec.Attempt)
	t.rec.Container = ""
	t.rec.Deadline = now.Add(t.runTime())
	switch last {
	case agent.SessionGone:
		t.rec.Session, t.rec.Resume = uuid.NewString(), false
	case agent.Interrupted:
		t.rec.Interrupted, t.rec.Resume = true, true
	case agent.NeedsInput: // and there is an answer
		t.rec.Tries, t.rec.Begun, t.rec.Interrupted = 1, time.Time{}, false // it begins when the lane is free
		if t.rec.Resume = t.rec.Resumable; !t.rec.Resume {
			t.rec.Session = uuid.NewString()
		}
	default:
		t.rec.Begun = now
		t.rec.Session, t.rec.Resume = t.bot.Store.Session(t.id), true
		t.rec.BaseSession = t.rec.Session
		if t.rec.Session == "" {
			t.rec.Session, t.rec.Resume = uuid.NewString(), false
		}
	}
}
