package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state/retry"
)

// ensure brings the room's container up. Podman's service may just be restarting:
// it is waited for, longer when a run of ours is in there.
func (a *attempt) ensure(ctx context.Context, begun bool) (*sandbox.Container, error) {
	rec := &a.task.rec
	fresh := !begun && rec.Tries <= 1 && (rec.Approved == nil || rec.Approved.Over) // between two tasks, never within one
	patience := time.Now().Add(30 * time.Second)
	if begun && rec.Deadline.After(patience) {
		patience = rec.Deadline
	}
	for again := retry.New(250*time.Millisecond, 5*time.Second).Until(patience); ; {
		container, err := a.task.env.Ensure(ctx, fresh)
		if err == nil || !errors.Is(err, sandbox.ErrUnreachable) {
			return container, err
		}
		a.shown.set("podman does not answer, retrying")
		if err := again.Wait(ctx, err); err != nil {
			return nil, err
		}
	}
}

// Ensure has the room's container run; a fresh one is replaced where there is a
// newer image.
func (e *Env) Ensure(ctx context.Context, fresh bool) (*sandbox.Container, error) {
	dir, err := e.Gateway.Open(e.ID)
	if err != nil {
		return nil, fmt.Errorf("open gateway: %w", err)
	}
	name := e.Store.Container(e.ID)
	container, err := e.Podman.Ensure(ctx, sandbox.Spec{
		Room: e.ID, Name: name, VolumesOf: e.Store.VolumesOf(e.ID), Image: e.Image, Memory: e.Memory, CPUs: e.CPUs, PIDs: e.PIDs,
		Gateway: dir, Version: e.Version, Fresh: fresh,
	})
	if err != nil {
		return nil, fmt.Errorf("ensure container: %w", err)
	}
	if name == "" {
		if err := e.Store.SetContainer(ctx, e.ID, container.Name); err != nil {
			e.Log.Warn().Err(err).Str("room", e.ID).Msg("save container name") // goes with the next write
		}
	}
	return container, nil
}

// status asks the container for the run, over a restart of podman's service.
func (a *attempt) status(ctx context.Context) (sandbox.RunStatus, error) {
	for again := retry.New(250*time.Millisecond, 5*time.Second).Until(a.task.rec.Deadline); ; {
		status, err := a.container.RunStatus(ctx, a.task.rec.Run)
		if err == nil || !errors.Is(err, sandbox.ErrUnreachable) {
			return status, err
		}
		if err := again.Wait(ctx, err); err != nil {
			return status, err
		}
	}
}

// Container names the room's container, and its transcript.
func (e *Env) Container() string {
	if name := e.Store.Container(e.ID); name != "" {
		return name
	}
	return sandbox.NameFor(e.ID)
}
