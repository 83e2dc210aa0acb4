package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"matrix-tui/sandbox/boxinit"
)

// These types are the ones that boxinit reads and prints in the container.
type (
	// File is a file written into the container before a run starts.
	File = boxinit.File
	// RunSpec describes a run: one command, started detached from its caller.
	RunSpec = boxinit.RunSpec
	// Parking describes a run that is started before it is needed.
	Parking = boxinit.Parking
	// Warm describes how a run continues a parked one.
	Warm = boxinit.Warm
	// Facts select what must not change while a run is parked.
	Facts = boxinit.Facts
	// RunState is the state of a run.
	RunState = boxinit.RunState
	// RunStatus is what the container knows about a run.
	RunStatus = boxinit.RunStatus
	// Left is a process that a run has left running.
	Left = boxinit.Left
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
// is ErrFileExists. If the container is weaker than its spec, nothing is started and the
// error is ErrWeak.
func (c *Container) StartRun(ctx context.Context, spec RunSpec) (existed bool, err error) {
	if err := spec.Check(); err != nil {
		return false, err
	}
	request, err := json.Marshal(spec)
	if err != nil {
		return false, fmt.Errorf("start run %s: %w", spec.ID, err)
	}
	if err := c.fit(); err != nil {
		return false, fmt.Errorf("start run %s: %w", spec.ID, err)
	}
	result, err := c.command(ctx, "start run "+spec.ID, request, "run", c.strength)
	if result.Code == exitUsage {
		return false, fmt.Errorf("start run %s: %w", spec.ID, c.misunderstood(ctx))
	}
	if err != nil {
		return false, err
	}
	answer, err := started(spec.ID, result.Stdout)
	return answer.Existed, err
}

// misunderstood returns why boxinit ended with exitUsage when it was to start a run: it is old, or a Go program that gets no
// thread, which ends with the same code. What it printed may be lost, because it ended before podman had passed on the
// request. Without a request it starts nothing, and what it prints arrives.
func (c *Container) misunderstood(ctx context.Context) error {
	result, _ := c.command(ctx, "try boxinit", nil, "run", c.strength)
	if result.Code == exitUsage && strings.Contains(string(result.Stderr), "usage:") {
		return ErrOldImage
	}
	return ErrExhausted
}

// started reads boxinit's answer to a request to start a run.
func started(id string, line []byte) (answer boxinit.Answer, err error) {
	switch err := json.Unmarshal(line, &answer); {
	case err != nil:
		return answer, fmt.Errorf("start run %s: read answer: %w", id, err)
	case answer.Weak != "":
		return answer, fmt.Errorf("start run %s: %w: %.2000s", id, ErrWeak, answer.Weak)
	case answer.Present != "":
		return answer, fmt.Errorf("start run %s: %w: %.500s", id, ErrFileExists, answer.Present)
	case kindIn(answer.Error) == ErrExhausted:
		return answer, fmt.Errorf("start run %s: %w: %.500s", id, ErrExhausted, withoutStack(answer.Error))
	case strings.Contains(answer.Error, boxinit.Locked):
		return answer, fmt.Errorf("start run %s: %w: %.500s", id, ErrLocked, answer.Error)
	case strings.Contains(answer.Error, "no space left on device"):
		return answer, fmt.Errorf("start run %s: %w: %.500s", id, ErrNoSpace, answer.Error)
	case answer.Error != "":
		return answer, fmt.Errorf("start run %s: %.500s", id, answer.Error)
	}
	return answer, nil
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
	return status.Bounded(), nil
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
	return c.Restart(ctx, err)
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

// Left returns the processes that ended runs have left running in the container, oldest first. An old boxinit knows of none.
func (c *Container) Left(ctx context.Context) ([]Left, error) {
	result, err := c.command(ctx, "list what runs have left", nil, "left")
	if result.Code == exitUsage {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Left
	if err := json.Unmarshal(result.Stdout, &list); err != nil {
		return nil, fmt.Errorf("list what runs have left: %w", err)
	}
	return boxinit.BoundedLeft(list), nil
}

// EndLeft ends everything that ended runs have left running. If nothing can be executed in the container, or its boxinit is
// too old for that, it is restarted.
func (c *Container) EndLeft(ctx context.Context) error {
	_, err := c.command(ctx, "end what runs have left", nil, "endleft")
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrUnreachable) {
		return err
	}
	return c.Restart(ctx, err)
}
