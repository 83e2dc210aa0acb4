package sandbox

import (
	"context"
	"errors"
	"io"

	"matrix-tui/sandbox/boxinit"
)

// The run's types are the ones that boxinit reads and prints in the box.
type (
	// File is a file written into the box before a run starts.
	File = boxinit.File
	// RunSpec describes a run: one command, started detached from its caller.
	RunSpec = boxinit.RunSpec
	// RunState says how far a run has come.
	RunState = boxinit.RunState
	// RunStatus is what the box knows about a run.
	RunStatus = boxinit.RunStatus
	// Watched tells how a file of RunSpec.Watch changed while the run ran.
	Watched = boxinit.Watched
)

// States of a run; see [boxinit.RunState].
const (
	RunNone        = boxinit.RunNone
	RunRunning     = boxinit.RunRunning
	RunExited      = boxinit.RunExited
	RunInterrupted = boxinit.RunInterrupted
)

var errTodo = errors.New("sandbox: not written yet")

// StartRun starts a run and returns once its command has been executed. It is
// idempotent by spec.ID: a run of that ID, ended or not, is left as it is and
// existed is true.
func (b *Box) StartRun(ctx context.Context, spec RunSpec) (existed bool, err error) {
	return false, errTodo
}

// FollowRun writes the run's stdout from offset on to w until the run has ended
// and returns its status. When podman's service goes away it connects again and
// goes on at the next byte, until ctx ends. It returns at once with State RunNone
// where the box does not know the run.
func (b *Box) FollowRun(ctx context.Context, id string, offset int64, w io.Writer) (RunStatus, error) {
	return RunStatus{}, errTodo
}

// RunStatus returns what the box knows about the run; State RunNone is no error.
func (b *Box) RunStatus(ctx context.Context, id string) (RunStatus, error) {
	return RunStatus{}, errTodo
}

// StopRun ends everything the run started, and nothing older, and returns when
// all of it is gone. A run that has ended or that the box does not know is no error.
func (b *Box) StopRun(ctx context.Context, id string) error { return errTodo }

// RemoveRun deletes the run's output and record. It refuses while the run runs.
func (b *Box) RemoveRun(ctx context.Context, id string) error { return errTodo }
