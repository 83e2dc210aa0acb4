package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"matrix-tui/sandbox/boxinit"
)

// These types are the ones that boxinit reads and prints in the container.
type (
	// File is a file written into the container before a run starts.
	File = boxinit.File
	// RunSpec describes a run: one command, started detached from its caller.
	RunSpec = boxinit.RunSpec
	// RunState is the state of a run.
	RunState = boxinit.RunState
	// RunStatus is what the container knows about a run.
	RunStatus = boxinit.RunStatus
	// Watched says how a file of RunSpec.Watch changed during the run.
	Watched = boxinit.Watched
)

// DefaultMaxOutput bounds the output that is kept of a run, unless its RunSpec does.
const DefaultMaxOutput = boxinit.DefaultMaxOutput

// States of a run; see [boxinit.RunState].
const (
	RunNone        = boxinit.RunNone
	RunRunning     = boxinit.RunRunning
	RunExited      = boxinit.RunExited
	RunInterrupted = boxinit.RunInterrupted
)

// ErrFileExists means that a file named in RunSpec.Without exists in the container.
var ErrFileExists = errors.New("a file exists that should not")

// StartRun starts a run and returns once its command has been executed. It is
// idempotent by spec.ID: an existing run with that ID, ended or not, is left alone and
// existed is true. If a file in spec.Without exists, nothing is started and the error
// is ErrFileExists.
func (c *Container) StartRun(ctx context.Context, spec RunSpec) (existed bool, err error) {
	if err := spec.Check(); err != nil {
		return false, err
	}
	request, err := json.Marshal(spec)
	if err != nil {
		return false, fmt.Errorf("start run %s: %w", spec.ID, err)
	}
	result, err := c.command(ctx, "start run "+spec.ID, request, "run")
	if err != nil {
		return false, err
	}
	var answer boxinit.Answer
	if err := json.Unmarshal(result.Stdout, &answer); err != nil {
		return false, fmt.Errorf("start run %s: read answer: %w", spec.ID, err)
	}
	if answer.Present != "" {
		return false, fmt.Errorf("start run %s: %w: %s", spec.ID, ErrFileExists, answer.Present)
	}
	if strings.Contains(answer.Error, "no space left on device") {
		return false, fmt.Errorf("start run %s: %w: %s", spec.ID, ErrNoSpace, answer.Error)
	}
	if answer.Error != "" {
		return false, fmt.Errorf("start run %s: %s", spec.ID, answer.Error)
	}
	return answer.Existed, nil
}

// RunStatus returns what the container knows about the run; State RunNone is not an error.
func (c *Container) RunStatus(ctx context.Context, id string) (RunStatus, error) {
	result, err := c.runCommand(ctx, "status", id)
	if err != nil {
		return RunStatus{}, err
	}
	var status RunStatus
	if err := json.Unmarshal(result.Stdout, &status); err != nil {
		return RunStatus{}, fmt.Errorf("status of run %s: %w", id, err)
	}
	return status, nil
}

// StopRun ends everything the run started, and nothing older, and returns when all of it is gone. It returns no error
// if the run has ended or is unknown. If nothing can be executed in the container, for example because the run has used
// up its processes, the container is restarted.
func (c *Container) StopRun(ctx context.Context, id string) error {
	var err error
	again := pauses()
	for range stopTries {
		_, err = c.runCommand(ctx, "stop", id)
		switch {
		case err == nil, ctx.Err() != nil, errors.Is(err, ErrUnreachable):
			return err
		case errors.Is(err, ErrNotFound):
			return nil
		case errors.Is(err, ErrNotRunning):
			if paused, err := c.resume(ctx); err != nil || !paused {
				return err // nothing is running in there
			}
			continue
		}
		if err := again.Wait(ctx, err); err != nil {
			return err
		}
	}
	return c.restart(ctx, err)
}

// stopTries is how often a failing stop is retried before the container is restarted.
const stopTries = 3

// RemoveRun deletes the run's output and record. It fails while the run is active.
func (c *Container) RemoveRun(ctx context.Context, id string) error {
	_, err := c.runCommand(ctx, "remove", id)
	return err
}

func (c *Container) runCommand(ctx context.Context, verb, id string) (Result, error) {
	if err := boxinit.CheckID(id); err != nil {
		return Result{}, err
	}
	return c.command(ctx, verb+" run "+id, nil, verb, id)
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

// followOnce follows the run over one connection.
func (c *Container) followOnce(ctx context.Context, id string, out *counting) (RunStatus, error) {
	stderr := bounded{left: maxStatus}
	code, err := c.podman.attach(ctx, c.ID, process{
		argv: []string{initPath, "tail", "-attached", id, strconv.FormatInt(out.n, 10)},
		dir:  "/", hold: true, stdout: out, stderr: &stderr,
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
	return status, nil
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
