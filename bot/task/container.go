package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// podmanTime is how long a task that has not started waits for podman's service.
const podmanTime = 5 * time.Minute

// ensure starts the room's container. If podman's service is unreachable, it retries for
// podmanTime, or until the deadline of a run that has started.
func (a *attempt) ensure(ctx context.Context, started bool) (*sandbox.Container, error) {
	rec := &a.task.rec
	fresh := !started && rec.Tries <= 1 && (rec.Approved == nil || rec.Approved.Over) // never replace it within a task
	until := time.Now().Add(podmanTime)
	if started && rec.Deadline.After(until) {
		until = rec.Deadline
	}
	for again := retry.New(250*time.Millisecond, 5*time.Second).Until(until); ; {
		container, err := a.task.env.Ensure(ctx, fresh)
		if err == nil && container.Outdated && !started && !fresh {
			fresh = true // nothing may start in a container of an earlier version
			continue
		}
		if err == nil || !errors.Is(err, sandbox.ErrUnreachable) {
			return container, err
		}
		a.shown.set("podman does not answer, retrying")
		if err := again.Wait(ctx, err); err != nil {
			return nil, err
		}
	}
}

// Ensure creates or starts the room's container. With fresh, it replaces one with an
// outdated image or seccomp profile, or another runtime.
func (e *Env) Ensure(ctx context.Context, fresh bool) (*sandbox.Container, error) {
	if _, err := e.Gateway.Open(e.ID); err != nil {
		return nil, fmt.Errorf("open gateway: %w", err)
	}
	name := e.Store.Containers.Of(e.ID)
	container, err := e.Podman.Ensure(ctx, sandbox.Spec{
		Room: e.ID, Name: name, VolumesOf: e.Store.VolumesOf(e.ID), Image: e.Image, Memory: e.Memory, CPUs: e.CPUs, PIDs: e.PIDs, Files: e.Files, Runtime: e.Runtime,
		Fresh:     fresh,
		Replacing: func(ctx context.Context, packages []string) error { return e.Store.Packages.Add(ctx, e.ID, packages) },
	})
	if err != nil {
		return nil, fmt.Errorf("ensure container: %w", err)
	}
	if container.Started {
		e.Keeper.Started()
	}
	if name != container.Name {
		if err := e.Store.Containers.Set(ctx, e.ID, container.Name); err != nil {
			e.Log.Warn().Err(err).Str("room", e.ID).Msg("cannot save the container name yet")
		}
	}
	return container, nil
}

// Retire removes the room's container. What was installed in it is installed in the next one on the same volumes.
func (e *Env) Retire(ctx context.Context) error {
	name := e.Store.Containers.Of(e.ID)
	if name == "" {
		return nil
	}
	packages, err := e.Podman.Packages(ctx, e.ID, name)
	if err == nil && len(packages) > 0 {
		err = e.Store.Packages.Add(ctx, e.ID, packages)
	}
	if err != nil && !errors.Is(err, sandbox.ErrNameTaken) {
		return fmt.Errorf("keep packages of container %s: %w", name, err)
	}
	if err := e.Podman.Remove(ctx, name, e.ID, ""); err != nil {
		return fmt.Errorf("remove container %s: %w", name, err)
	}
	return nil
}

// OpenModel lets a task's run use its model, until closeModel. A run that outlived the bot needs it before the room's
// gateway is open.
func (e *Env) OpenModel(rec state.Task) {
	model := rec.Model
	if model == "" { // the record of an older release
		c, _ := e.Models.Now(e.ModelSetting())
		model = c.Name
	}
	e.Gateway.Begin(e.ID, rec.Key, model)
}

func (e *Env) closeModel(key string) { e.Gateway.End(e.ID, key) }

// status returns the state of the run, and retries while podman's service restarts.
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

// Container returns the name of the room's container.
func (e *Env) Container() string {
	if name := e.Store.Containers.Of(e.ID); name != "" {
		return name
	}
	return sandbox.NameFor(e.ID)
}
