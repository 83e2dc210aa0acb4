package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	if c.Unfit != nil {
		return false, fmt.Errorf("start run %s: %w", spec.ID, c.Unfit)
	}
	reply, err := c.door.short(ctx, "start run "+spec.ID, boxinit.Request{Op: boxinit.OpRun, Run: &spec}, nil)
	return reply.Existed, err
}

// RunStatus returns what the container knows about the run; State RunNone is not an error. A run that an earlier
// boxinit has started cannot be followed: it counts as interrupted.
func (c *Container) RunStatus(ctx context.Context, id string) (RunStatus, error) {
	if c.Old {
		return RunStatus{State: RunInterrupted}, nil
	}
	reply, err := c.ofRun(ctx, boxinit.OpStatus, id)
	return statusIn(reply), err
}

// statusIn returns the status in a reply.
func statusIn(r boxinit.Reply) RunStatus {
	if r.Status == nil {
		return RunStatus{State: RunNone}
	}
	return *r.Status
}

// StopRun ends everything the run started, and nothing older, and returns when all of it is gone. It returns no error
// if the run has ended or is unknown. If nothing can be executed in the container, for example because the run has used
// up its processes, the container is restarted.
func (c *Container) StopRun(ctx context.Context, id string) error {
	var err error
	again := pauses()
	for range stopTries {
		try, cancel := context.WithTimeout(ctx, stopTime)
		_, err = c.ofRun(try, boxinit.OpStop, id)
		cancel()
		switch {
		case err == nil, ctx.Err() != nil, errors.Is(err, ErrUnreachable) && !c.Only:
			return err
		case errors.Is(err, ErrUnreachable): // the engine may answer, although the container does not
			return c.Restart(ctx, err)
		case errors.Is(err, ErrNotFound):
			return nil
		case errors.Is(err, ErrNotRunning):
			paused, err := c.door.runner.Paused(ctx, c.ID)
			if err == nil && paused {
				err = c.door.runner.Unpause(ctx, c.ID)
			}
			if err != nil || !paused {
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

// stopTime is how long one try to stop a run may take: something in the container may keep it waiting.
const stopTime = 25 * time.Second

// stopTries is how often a failing stop is retried before the container is restarted.
const stopTries = 3

// RemoveRun deletes the run's output and record. It fails while the run is active.
func (c *Container) RemoveRun(ctx context.Context, id string) error {
	_, err := c.ofRun(ctx, boxinit.OpRemove, id)
	return err
}

func (c *Container) ofRun(ctx context.Context, op boxinit.Op, id string) (boxinit.Reply, error) {
	if err := boxinit.CheckID(id); err != nil {
		return boxinit.Reply{}, err
	}
	return c.door.short(ctx, string(op)+" run "+id, boxinit.Request{Op: op, ID: id}, nil)
}

// Left returns the processes that ended runs have left running in the container, oldest first.
func (c *Container) Left(ctx context.Context) ([]Left, error) {
	reply, err := c.door.short(ctx, "list what runs have left", boxinit.Request{Op: boxinit.OpLeft}, nil)
	return reply.Left, err
}

// EndLeft ends everything that ended runs have left running. If nothing can be executed in the container, it is
// restarted.
func (c *Container) EndLeft(ctx context.Context) error {
	_, err := c.door.short(ctx, "end what runs have left", boxinit.Request{Op: boxinit.OpEndLeft}, nil)
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrUnreachable) && !c.Only {
		return err
	}
	return c.Restart(ctx, err)
}
