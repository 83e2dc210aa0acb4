package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"matrix-tui/sandbox/boxinit"
)

// startTime is how long a container may take to start a run, or to continue the parked one. Ending a parked one that does
// not react takes 22 s.
const startTime = time.Minute

// restartTime bounds a restart of a container.
const restartTime = time.Minute

// Run is StartRun and FollowRun from the beginning, usually on a line to the container. It calls begun when the run has
// been started or exists already. If the container does not start it in time, or something in it prevents that, the
// container is restarted, and the error is ErrStuck, ErrLocked or ErrExhausted.
func (c *Container) Run(ctx context.Context, spec RunSpec, w io.Writer, begun func(existed bool)) (RunStatus, error) {
	if err := spec.Check(); err != nil {
		return RunStatus{}, err
	}
	if err := c.fit(); err != nil {
		return RunStatus{}, fmt.Errorf("start run %s: %w", spec.ID, err)
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(cmp.Or(c.podman.startTime, startTime), func() { cancel(ErrStuck) })
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

func (c *Container) runWithin(ctx context.Context, spec RunSpec, w io.Writer, begun func(existed bool)) (RunStatus, error) {
	out := &answered{id: spec.ID, begun: begun, counting: counting{to: w}}
	status, err := c.runOnLine(ctx, spec, out)
	switch {
	case ctx.Err() != nil:
		return RunStatus{}, ctx.Err()
	case out.failed != nil:
		return RunStatus{}, out.failed
	case out.err != nil:
		return RunStatus{}, fmt.Errorf("follow run %s: %w", spec.ID, out.err)
	case out.isBegun && err == nil:
		return status, nil
	case !out.isBegun: // an older boxinit, or podman's service went away; starting twice is harmless
		existed, err := c.StartRun(ctx, spec)
		if err != nil {
			return RunStatus{}, err
		}
		begun(existed)
	}
	return c.FollowRun(ctx, spec.ID, out.n, w)
}

// runOnLine starts a run and follows it. If the line goes away, it returns an error; out tells how far it has come.
func (c *Container) runOnLine(ctx context.Context, spec RunSpec, out *answered) (RunStatus, error) {
	defer c.podman.Hold(c.Name)()
	l, err := c.line(ctx)
	if err != nil {
		return RunStatus{}, explain(err, "open line to container", c.Name)
	}
	said := firstLine{left: maxStatus}
	x := &exchange{stdout: out, stderr: &said}
	var end *boxinit.Ended
	var odd error
	x.over = func() bool {
		if said.complete && end == nil && odd == nil { // it is read once
			end = new(boxinit.Ended)
			odd = json.Unmarshal(said.kept.Bytes(), end)
		}
		return out.failed != nil || odd != nil || end != nil && out.n >= end.Sent
	}
	if err := l.do(ctx, boxinit.Request{Run: &spec}, x); err != nil {
		l.close()
		return RunStatus{}, explain(err, "follow run in container", c.Name)
	}
	if odd != nil && out.failed == nil {
		l.close()
		return RunStatus{}, fmt.Errorf("follow run in container %s: no status at the end: %w", c.Name, odd)
	}
	c.podman.lines.give(c.ID, l)
	if out.failed != nil {
		return RunStatus{}, out.failed
	}
	return end.Status.Bounded(), nil
}

// firstLine keeps the first line of a stream, up to a bound, and drops the rest.
type firstLine struct {
	kept     bytes.Buffer
	left     int
	complete bool // it has ended, or is too long
}

// Write always accepts all of b.
func (w *firstLine) Write(b []byte) (int, error) {
	if w.complete {
		return len(b), nil
	}
	keep := b
	if end := bytes.IndexByte(b, '\n'); end >= 0 {
		keep, w.complete = b[:end], true
	}
	if len(keep) > w.left {
		keep, w.complete = keep[:w.left], true
	}
	w.left -= len(keep)
	w.kept.Write(keep)
	return len(b), nil
}

// maxAnswer bounds the answer to a request to start a run, in bytes.
const maxAnswer = 64 << 10

// answered reads the answer, which is the first line, and passes on the output that follows it.
type answered struct {
	counting
	id      string
	begun   func(existed bool)
	line    bytes.Buffer
	isBegun bool
	failed  error // why the run was not started
}

func (w *answered) Write(b []byte) (int, error) {
	if w.isBegun || w.failed != nil {
		return w.counting.Write(b)
	}
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		if w.line.Len()+len(b) > maxAnswer {
			return 0, fmt.Errorf("start run %s: the answer is longer than %d bytes", w.id, maxAnswer)
		}
		return w.line.Write(b)
	}
	w.line.Write(b[:end])
	answer, err := started(w.id, w.line.Bytes())
	if err != nil {
		w.failed = err
		return len(b), nil
	}
	w.isBegun = true
	w.begun(answer.Existed)
	n, err := w.counting.Write(b[end+1:])
	return end + 1 + n, err
}

// maxStatus bounds the status that follows a run's output, in bytes.
const maxStatus = 1 << 20

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
			if paused, err := c.paused(ctx); err == nil && !paused {
				return RunStatus{State: RunInterrupted}, nil
			}
		case !errors.Is(err, ErrUnreachable):
			failures++
		}
		if out.n > from {
			failures = 0
			again.Reset()
		}
		c.podman.log.Debug().Str("container", c.Name).Str("run", id).Int64("offset", out.n).Err(err).Msg("lost the run's output stream: reconnecting")
		if err := again.Wait(ctx, err); err != nil {
			return RunStatus{}, err
		}
	}
	return RunStatus{}, fmt.Errorf("follow run %s in container %s: the output stream keeps breaking off", id, c.Name)
}

// followOnce follows the run with a command that ends with it or when the caller goes away, and reads the status that is
// printed at the end.
func (c *Container) followOnce(ctx context.Context, id string, out *counting) (RunStatus, error) {
	stderr := bounded{left: maxStatus}
	defer c.podman.Hold(c.Name)()
	code, err := c.podman.attach(ctx, c.ID, process{
		argv: []string{c.init, "tail", "-attached", id, strconv.FormatInt(out.n, 10)}, dir: "/",
		hold: true, stdout: out, stderr: &stderr,
	})
	if err != nil {
		return RunStatus{}, explain(err, "follow run in container", c.Name)
	}
	if err := failure(Result{Code: code, Stderr: stderr.kept.Bytes()}, "follow run "+id); err != nil {
		return RunStatus{}, err
	}
	var status RunStatus
	if err := json.Unmarshal(stderr.kept.Bytes(), &status); err != nil {
		return RunStatus{}, fmt.Errorf("follow run %s: no status at the end: %w", id, err)
	}
	return status.Bounded(), nil
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
