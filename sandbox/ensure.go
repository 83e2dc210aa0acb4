package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/bindings/containers"

	"matrix-tui/sandbox/boxinit"
	"matrix-tui/state/retry"
)

// ensureTries bounds the number of steps in one Ensure.
const ensureTries = 8

// Ensure returns the room's container, running: see [Engine].
func (p *Podman) Ensure(ctx context.Context, spec Spec) (Ensured, error) {
	here := placed{Spec: spec, version: p.Place.Version}
	e := ensuring{Podman: p, spec: here, is: Ensured{Name: spec.Name, Room: spec.Room}}
	if p.Place.Doors != nil {
		e.spec.gateway = p.Place.Doors.Folder(spec.Room)
	}
	again := pauses().Until(time.Now().Add(retryTime))
	for tries := 0; tries < ensureTries; {
		done, err := e.step(ctx)
		switch {
		case done:
			return e.is, nil
		case err == nil:
			tries++
		case !errors.Is(err, ErrUnreachable) || again.Wait(ctx, err) != nil:
			return Ensured{}, err
		}
	}
	return Ensured{}, fmt.Errorf("it keeps stopping; see `podman logs %s`", spec.Name)
}

// ensuring is the state of one Ensure.
type ensuring struct {
	*Podman
	spec   placed
	is     Ensured
	remade bool // a broken container has been removed
}

// step inspects the container and takes the next step. It reports true once the
// container runs.
func (e *ensuring) step(ctx context.Context) (done bool, err error) {
	data, err := e.inspect(ctx, e.spec.Name, e.spec.Room)
	err = explain(err, "inspect container", e.spec.Name)
	switch {
	case errors.Is(err, ErrNotFound):
		return false, e.create(ctx)
	case errors.Is(err, errHalfRemoved) && !e.remade:
		e.remade = true
		e.log.Warn().Err(err).Str("container", e.spec.Name).Str("room", e.spec.Room).
			Msg("the container's removal was interrupted: finishing it")
		return false, e.remove(ctx, e.spec.Name)
	case err != nil:
		return false, err
	}
	e.look(data)
	if stale, err := e.stale(ctx); err != nil {
		return false, err
	} else if stale {
		if err := e.Limited(ctx, e.spec.Spec); err != nil {
			return false, err // there would be no other container
		}
		if err := e.keepPackages(ctx, data); err != nil {
			return false, err
		}
		e.spec.Fresh = false
		e.log.Info().Str("container", e.spec.Name).Str("room", e.spec.Room).
			Msg("the image or the way in which containers are isolated has changed: recreating the container on its volumes")
		return false, e.remove(ctx, data.ID)
	}
	if e.is.Created && e.is.Unfit != nil {
		return false, errors.Join(e.is.Unfit, e.remove(ctx, data.ID)) // it was never started
	}
	switch next(data, e.spec.gateway) {
	case actUse:
		if e.spec.lostDoor(data) {
			e.log.Warn().Str("container", e.spec.Name).Str("room", e.spec.Room).
				Msg("the gateway directory was replaced while the container was running: restarting the container")
			return false, explain(containers.Stop(e.with(ctx), data.ID, nil), "stop container", e.spec.Name)
		}
		return true, nil
	case actUnpause:
		return false, explain(containers.Unpause(e.with(ctx), data.ID, nil), "unpause container", e.spec.Name)
	case actWait:
		return false, retry.Sleep(ctx, 250*time.Millisecond)
	case actStart:
		return false, e.begin(ctx, data)
	}
	return false, e.remake(ctx, data, "state "+data.State.Status)
}

// look notes what podman says about the container.
func (e *ensuring) look(data *define.InspectContainerData) {
	labels := data.Config.Labels
	e.is.ID, e.is.Image, e.is.Strength, e.is.Init = data.ID, labels[labelImage], labels[labelStrength], initOf(data)
	e.is.Unfit = cmp.Or(e.spec.under(data), e.spec.limited(data))
	e.is.Old = labels[labelOperations] != boxinit.OperationPath
	e.is.Outdated = labels[labelProfile] != theProfile().name || e.is.Unfit != nil || e.is.Old ||
		e.is.Init != initMount && e.Place.Inits != "" && executable(e.Place.Inits)
	if e.is.Strength == "" {
		e.is.Unfit = errEarlier
	}
}

// stale reports whether the container must be recreated from a newer image, with a newer seccomp profile, or under
// another runtime. If there is no image, the existing container is used.
func (e *ensuring) stale(ctx context.Context) (bool, error) {
	if !e.spec.Fresh {
		return false, nil
	}
	now, err := e.ImageID(ctx, e.spec.Image)
	if errors.Is(err, ErrImageMissing) {
		return false, nil
	}
	return err == nil && (e.is.Image != now || e.is.Outdated), err
}

type action int

const (
	actUse action = iota
	actUnpause
	actStart
	actWait
	actRemake
)

// next decides how to get a container running.
func next(data *define.InspectContainerData, gateway string) action {
	if gateway != "" && mountOf(data, gatewayMount) != gateway {
		return actRemake // the gateway directory has moved: the container could not reach it
	}
	switch data.State.Status {
	case "running":
		return actUse
	case "paused":
		return actUnpause
	case "created", "configured", "initialized", "exited", "stopped":
		return actStart
	case "stopping", "removing":
		return actWait
	}
	return actRemake
}

// owned returns an error if the container does not belong to the room.
func owned(data *define.InspectContainerData, room string) error {
	label := ""
	if data.Config != nil {
		label = data.Config.Labels[labelRoom]
	}
	if label != room {
		return fmt.Errorf("container %s is labelled for room %q: %w", data.Name, label, ErrForeign)
	}
	return nil
}
