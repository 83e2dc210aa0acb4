package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"matrix-tui/sandbox/boxinit"
)

// startTime is how long a container may take to start a run, or to continue the parked one. Ending a parked one that
// does not react takes 22 s.
const startTime = time.Minute

// restartTime bounds a restart of a container.
const restartTime = time.Minute

// Run is StartRun and FollowRun from the beginning, in one operation. It calls begun when the run has
// been started or exists already. If the container does not start it in time, or something in it prevents that, the
// container is restarted, and the error is ErrStuck, ErrLocked or ErrExhausted.
func (c *Container) Run(ctx context.Context, spec RunSpec, w io.Writer, begun func(existed bool)) (RunStatus, error) {
	if err := spec.Check(); err != nil {
		return RunStatus{}, err
	}
	if c.Unfit != nil {
		return RunStatus{}, fmt.Errorf("start run %s: %w", spec.ID, c.Unfit)
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(c.startTime, func() { cancel(ErrStuck) })
	defer limit.Stop()
	status, err := c.runWithin(within, spec, w, func(existed bool) {
		limit.Stop()
		begun(existed)
	})
	if ctx.Err() == nil && errors.Is(context.Cause(within), ErrStuck) {
		err = fmt.Errorf("start run %s: %w", spec.ID, ErrStuck)
	}
	if errors.Is(err, ErrStuck) || errors.Is(err, ErrLocked) || errors.Is(err, ErrExhausted) {
		return RunStatus{}, errors.Join(err, c.Restart(ctx, err))
	}
	return status, err
}

func (c *Container) runWithin(ctx context.Context, spec RunSpec, w io.Writer,
	begun func(existed bool)) (RunStatus, error) {
	out := &counting{to: w}
	again := pauses().Until(time.Now().Add(retryTime))
	for { // starting twice is harmless
		isBegun := false
		reply, err := c.door.do(ctx, operation{
			Request: boxinit.Request{Op: boxinit.OpRun, Run: &spec, Follow: true}, stdout: out,
			begun: func(r boxinit.Reply) {
				isBegun = true
				begun(r.Existed)
			},
		})
		if err == nil {
			err = failure(reply, "start run "+spec.ID)
		}
		switch {
		case err == nil:
			return statusIn(reply), nil
		case ctx.Err() != nil:
			return RunStatus{}, ctx.Err()
		case out.err != nil:
			return RunStatus{}, fmt.Errorf("follow run %s: %w", spec.ID, out.err)
		case isBegun:
			return c.FollowRun(ctx, spec.ID, out.n, w)
		case !errors.Is(err, ErrUnreachable) || again.Wait(ctx, err) != nil:
			return RunStatus{}, err
		}
	}
}

// followTries bounds how often in a row the output stream may break without new output while podman answers.
const followTries = 10

// FollowRun writes the run's stdout from offset on to w until the run has ended, and
// returns its status. If podman's service goes away, it reconnects and continues at the
// next byte until ctx ends. It returns State RunNone at once if the container is gone
// or does not know the run, and RunInterrupted if the container went down before the
// run had ended.
func (c *Container) FollowRun(ctx context.Context, id string, offset int64, w io.Writer) (RunStatus, error) {
	if err := boxinit.CheckID(id); err != nil {
		return RunStatus{}, err
	}
	if c.Old {
		return RunStatus{State: RunInterrupted}, nil // see RunStatus
	}
	out := &counting{to: w, n: offset}
	again := pauses()
	for failures := 0; failures < followTries; {
		from := out.n
		status, err := c.followOnce(ctx, id, out)
		switch {
		case err == nil:
			return status, nil
		case ctx.Err() != nil:
			return RunStatus{}, ctx.Err()
		case out.err != nil:
			return RunStatus{}, fmt.Errorf("follow run %s: %w", id, out.err)
		case errors.Is(err, ErrNotFound):
			return RunStatus{State: RunNone}, nil
		case errors.Is(err, ErrNotRunning):
			if paused, err := c.door.runner.Paused(ctx, c.ID); err == nil && !paused {
				return RunStatus{State: RunInterrupted}, nil
			}
		case !errors.Is(err, ErrUnreachable):
			failures++
		}
		if out.n > from {
			failures = 0
			again.Reset()
		}
		if c.waiting != nil && !errors.Is(err, errLost) { // which lasts longer than a restart of the other side
			c.waiting(err)
		}
		c.log.Debug().Str("container", c.Name).Str("run", id).Int64("offset", out.n).Err(err).
			Msg("lost the run's output stream: reconnecting")
		if err := again.Wait(ctx, err); err != nil {
			return RunStatus{}, err
		}
	}
	return RunStatus{}, fmt.Errorf("follow run %s in container %s: the output stream keeps breaking off", id, c.Name)
}

// followOnce follows the run from where out is.
func (c *Container) followOnce(ctx context.Context, id string, out *counting) (RunStatus, error) {
	reply, err := c.door.do(ctx, operation{Request: boxinit.Request{Op: boxinit.OpFollow, ID: id, Offset: out.n},
		stdout: out})
	if err == nil {
		err = failure(reply, "follow run "+id)
	}
	return statusIn(reply), err
}

// counting counts the bytes it passes on and remembers its writer's error.
type counting struct {
	to  io.Writer
	n   int64
	err error
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	c.err = err
	return n, err
}
