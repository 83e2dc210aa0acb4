package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox"
	"matrix-tui/state/clean"
)

// DefaultModel is used if a Task names no model.
const DefaultModel = "gemini-flash-latest"

const (
	// stopGrace bounds stopping a run and reading the rest of its output.
	stopGrace = 90 * time.Second
	// lateGrace is how long a run found after its deadline is read before it is stopped: it may have ended long ago.
	lateGrace = 10 * time.Second
	// startGrace is how long a run that is being started may take to start when it is to be stopped. Until then, nobody
	// knows what to stop.
	startGrace = 5 * time.Second
)

// Gemini runs tasks with Gemini CLI. It has no state and is safe for concurrent use
// with different containers.
type Gemini struct {
	Offers
	Log zerolog.Logger
}

// Offers are tools that the model has besides those of every run. The gateway must allow them.
type Offers struct {
	Search bool // a web search, which the provider bills per use
	// Tools are those of the room, in the form in which MCP lists them; nil is none. The gateway serves them at
	// ToolsPath.
	Tools     json.RawMessage
	Remembers bool // Tools include those of the memory
}

var errDeadline, errStop = errors.New("the task's deadline has passed"), errors.New("the task was stopped")
var errFlood = errors.New("the run printed too much")

// Run does t in container and returns when it has ended. It calls emit (which may be
// nil) with its events, one at a time and in order; emit should return quickly. An
// existing run is read from its beginning, so emit may see events again.
//
// When ctx is cancelled, Run returns its error and the run continues in the container;
// a Run with Attached set finishes it. When t.Deadline passes, the run is stopped and
// the Outcome is TimedOut. Failures in the container or at the model are an Outcome; an
// error means that the container cannot be reached or the task cannot be started.
func (g *Gemini) Run(ctx context.Context, container Container, t Task, emit func(Event)) (Outcome, error) {
	if err := t.check(); err != nil {
		return Outcome{}, err
	}
	w := newWatch(emit)
	defer w.close()
	st, c, err := g.follow(ctx, container, t, w)
	w.close()
	if err != nil {
		return Outcome{}, err
	}
	o := conclude(t, st, w.stream, c)
	done := g.Log.Info()
	switch o.Ended {
	case Completed, NeedsInput, NeedsApproval:
	default:
		done = g.Log.Warn()
	}
	if o.Ended == Crashed {
		done = done.Str("stderr", clean.Line(st.Stderr, 600)) // the CLI's own cause, for failures
	}
	done.Str("run", t.Run).Str("ended", string(o.Ended)).Int("code", st.Code).Str("signal", st.Signal).Bool("oom",
		st.OOM).Bool("warm", st.Warm).
		Dur("took", o.Duration).Int64("tokens", o.Usage.Total).Int64("output", st.Size).Msg("the agent's run has ended")
	return o, nil
}

// follow starts the run, or finds it, and reads it until it ends. It stops the run at its deadline or on request.
func (g *Gemini) follow(ctx context.Context, container Container, t Task,
	w *watch) (st sandbox.RunStatus, c cause, err error) {
	reading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.onFlood(func() { cancel(errFlood) })
	var limits sync.WaitGroup
	hasBegun := make(chan struct{})
	begun := func(existed bool) {
		g.Log.Debug().Str("run", t.Run).Bool("existed", existed).Bool("resume", t.Resume).Msg("following the agent's run")
		close(hasBegun)
	}
	limits.Go(func() { limit(reading, cancel, t, hasBegun) })
	if t.Attached {
		begun(true)
		st, err = container.FollowRun(reading, t.Run, 0, w)
	} else {
		st, err = container.Run(reading, runSpec(t, g.Offers), w, begun)
	}
	why := context.Cause(reading)
	cancel(nil)
	limits.Wait()
	switch {
	case err == nil:
		return st, cause{}, nil
	case ctx.Err() != nil:
		return st, cause{}, fmt.Errorf("do run %s: %w", t.Run, ctx.Err())
	case !errors.Is(why, errDeadline) && !errors.Is(why, errStop) && !errors.Is(why, errFlood):
		return st, cause{}, fmt.Errorf("do run %s: %w", t.Run, err)
	}
	select {
	case <-hasBegun:
		st, err = stop(ctx, container, t, w)
	default: // it must not start after it was stopped
		st, err = sandbox.RunStatus{}, container.Restart(ctx, why)
	}
	c = cause{stopped: errors.Is(why, errStop), timedOut: errors.Is(why, errDeadline), flooded: errors.Is(why, errFlood)}
	if c.limit = t.Limit; c.limit == 0 && !st.Started.IsZero() {
		c.limit = t.Deadline.Sub(st.Started)
	}
	return st, c, err
}

// limit cancels at the task's deadline or on request, as soon as the run has begun, and returns when ctx is done.
func limit(ctx context.Context, cancel context.CancelCauseFunc, t Task, begun <-chan struct{}) {
	var due <-chan time.Time // nil is never ready
	if !t.Deadline.IsZero() {
		left := time.Until(t.Deadline)
		if t.Attached {
			left = max(left, lateGrace)
		}
		timer := time.NewTimer(left)
		defer timer.Stop()
		due = timer.C
	}
	var why error
	select {
	case <-due:
		why = errDeadline
	case <-t.Stop:
		why = errStop
	case <-ctx.Done():
		return
	}
	select {
	case <-begun:
	case <-time.After(startGrace):
	case <-ctx.Done():
		return
	}
	cancel(why)
}

// stop ends the run and reads the rest of its output.
func stop(ctx context.Context, container Container, t Task, w *watch) (sandbox.RunStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	if err := container.StopRun(ctx, t.Run); err != nil {
		return sandbox.RunStatus{}, fmt.Errorf("stop run %s: %w", t.Run, err)
	}
	st, err := container.FollowRun(ctx, t.Run, w.offset(), w)
	if err != nil {
		return st, fmt.Errorf("read the end of run %s: %w", t.Run, err)
	}
	return st, nil
}

// conclude builds the outcome. It is pure.
func conclude(t Task, st sandbox.RunStatus, s *stream, c cause) Outcome {
	s.end()
	o := Outcome{Text: s.answer(), Session: t.Session, Tools: s.tools, Calls: s.calls.done, Truncated: s.truncated,
		Status: st}
	if s.session != "" {
		o.Session = s.session
	}
	if s.result != nil {
		o.Usage = s.result.usage
	}
	if !st.Started.IsZero() && st.Ended.After(st.Started) {
		o.Duration = st.Ended.Sub(st.Started)
	}
	o.Ended, o.Detail = decide(t, st, s, c)
	switch o.Ended {
	case NeedsInput, QuestionCut:
		o.Signal = s.signal()
	case NeedsApproval:
		o.Held = s.held
	}
	if o.Ended == Overflow || o.Ended == HistoryRefused || !t.Resume && s.result != nil && !s.result.ok &&
		len(s.tools) == 0 {
		o.Session = "" // useless, or discarded: the CLI does not keep a first turn that failed
	}
	return o
}
