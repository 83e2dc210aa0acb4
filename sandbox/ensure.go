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

// Container is a room's container. It was running when Ensure returned it.
type Container struct {
	ID, Name, Room string
	// Created says that this Ensure created the container, Started that it started it (a new one or a stopped one). If
	// neither is set, it was running.
	Created, Started bool
	// Outdated says that a new container would have another seccomp profile, another runtime, the host's
	// boxinit, or the limits that the container lacks.
	Outdated bool

	podman   *Podman
	strength string // what boxinit verifies; "" = an earlier version created the container
	old      bool   // its boxinit speaks another protocol
	misfit   error  // why its runtime or its limits are not those of the spec
	init     string // the path of boxinit in it
}

// ensureTries bounds the number of steps in one Ensure.
const ensureTries = 8

// Ensure returns the room's container, running. It starts a stopped container, resumes
// a paused one, and recreates a missing or broken one on its old volumes. A container
// with that name whose label is not Spec.Room is left alone: the room's gets another name, or ErrNameTaken.
func (p *Podman) Ensure(ctx context.Context, spec Spec) (*Container, error) {
	if spec.Room == "" {
		return nil, errors.New("ensure container: no room")
	}
	spec.Name = cmp.Or(spec.Name, NameFor(spec.Room))
	container, err := p.ensure(ctx, spec)
	if whole := wholeName(spec.Room); errors.Is(err, errForeign) && spec.Name != whole {
		p.log.Warn().Err(err).Str("room", spec.Room).Msg("another room's container has the name: this one gets a longer one")
		spec.Name = whole
		return p.ensure(ctx, spec)
	}
	return container, err
}

// ensure is Ensure with that name only.
func (p *Podman) ensure(ctx context.Context, spec Spec) (*Container, error) {
	unlock, err := p.names.Lock(ctx, spec.Name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	defer p.Hold(spec.Name)()
	e := ensuring{Podman: p, spec: spec, container: Container{Name: spec.Name, Room: spec.Room, podman: p}}
	again := pauses().Until(time.Now().Add(retryTime))
	for tries := 0; tries < ensureTries; {
		done, err := e.step(ctx)
		if errors.Is(err, ErrUnreachable) {
			if known := e.answering(ctx); known != nil {
				return known, nil
			}
		}
		switch {
		case done:
			p.ensured.Store(spec.Name, ensured{e.container, e.spec.identity()})
			return &e.container, nil
		case err == nil:
			tries++
		case !errors.Is(err, ErrUnreachable) || again.Wait(ctx, err) != nil:
			return nil, fmt.Errorf("ensure container %s: %w", spec.Name, err)
		}
	}
	return nil, fmt.Errorf("ensure container %s: it keeps stopping; see `podman logs %s`", spec.Name, spec.Name)
}

// ensuring is the state of one Ensure.
type ensuring struct {
	*Podman
	spec      Spec
	container Container
	remade    bool // a broken container has been removed
	waited    bool // podman did not answer in time
}

// step inspects the container and takes the next step. It reports true once the
// container runs.
func (e *ensuring) step(ctx context.Context) (done bool, err error) {
	var data *define.InspectContainerData
	err = e.ask(ctx, func(ctx context.Context) error {
		data, err = containers.Inspect(e.with(ctx), e.spec.Name, nil)
		return explain(err, "inspect container", e.spec.Name)
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return false, e.create(ctx)
	case errors.Is(err, errHalfRemoved) && !e.remade:
		e.remade = true
		e.log.Warn().Err(err).Str("container", e.spec.Name).Str("room", e.spec.Room).Msg("the container's removal was interrupted: finishing it")
		return false, e.removeRest(ctx, e.spec.Name, e.spec.Room)
	case err != nil:
		return false, err
	}
	if err := owned(data, e.spec.Room); err != nil {
		return false, err
	}
	e.container.ID, e.container.strength = data.ID, data.Config.Labels[labelStrength]
	e.container.init, e.container.misfit = initOf(data), cmp.Or(e.spec.under(data), e.spec.limited(data))
	e.container.old = data.Config.Labels[labelOperations] != boxinit.OperationPath
	e.container.Outdated = data.Config.Labels[labelProfile] != theProfile().name || e.container.misfit != nil || e.container.old ||
		e.container.init != initMount && e.spec.Inits != "" && executable(e.spec.Inits)
	if stale, err := e.stale(ctx, data); err != nil {
		return false, err
	} else if stale {
		if err := e.Limited(ctx, e.spec); err != nil {
			return false, err // there would be no other container
		}
		if err := e.keepPackages(ctx, data); err != nil {
			return false, err
		}
		e.spec.Fresh = false
		e.log.Info().Str("container", e.spec.Name).Str("room", e.spec.Room).Msg("the image or the way in which containers are isolated has changed: recreating the container on its volumes")
		return false, e.remove(ctx, data.ID)
	}
	if e.container.Created && e.container.misfit != nil {
		return false, errors.Join(e.container.misfit, e.remove(ctx, data.ID)) // it was never started
	}
	switch next(data, e.spec.Gateway) {
	case actUse:
		if data.State.Pid > 0 && e.spec.lostDoor(data) {
			e.log.Warn().Str("container", e.spec.Name).Str("room", e.spec.Room).Msg("the gateway directory was replaced while the container was running: restarting the container")
			return false, explain(containers.Stop(e.with(ctx), data.ID, nil), "stop container", e.spec.Name)
		}
		return true, nil
	case actUnpause:
		return false, explain(containers.Unpause(e.with(ctx), data.ID, nil), "unpause container", e.spec.Name)
	case actWait:
		return false, retry.Sleep(ctx, 250*time.Millisecond)
	case actStart:
		return false, e.start(ctx, data)
	}
	return false, e.remake(ctx, data, "state "+data.State.Status)
}

// stale reports whether the container must be recreated from a newer image, with a newer seccomp profile, or under another
// runtime. If there is no image, the existing container is used.
func (e *ensuring) stale(ctx context.Context, data *define.InspectContainerData) (bool, error) {
	if !e.spec.Fresh {
		return false, nil
	}
	now := ""
	err := e.ask(ctx, func(ctx context.Context) (err error) {
		now, err = e.ImageID(ctx, e.spec.Image)
		return err
	})
	if errors.Is(err, ErrImageMissing) {
		return false, nil
	}
	return err == nil && (data.Config.Labels[labelImage] != now || e.container.Outdated), err
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

// IsGone reports whether an error says that a room has no container of that name: there is none, or it is not the room's.
func IsGone(err error) bool { return errors.Is(err, ErrNotFound) || errors.Is(err, errForeign) }

// errForeign: the container has another room's label, or none.
var errForeign = fmt.Errorf("it does not belong to this room: %w", ErrNameTaken)

// owned returns an error if the container does not belong to the room.
func owned(data *define.InspectContainerData, room string) error {
	label := ""
	if data.Config != nil {
		label = data.Config.Labels[labelRoom]
	}
	if label != room {
		return fmt.Errorf("container %s is labelled for room %q: %w", data.Name, label, errForeign)
	}
	return nil
}

// ensured is what an Ensure has returned, and for which spec.
type ensured struct {
	container Container
	spec      string
}

// answering returns the container of the last Ensure if it still answers on a connection that needs no podman: then it has
// not been replaced.
func (e *ensuring) answering(ctx context.Context) *Container {
	kept, _ := e.ensured.Load(e.spec.Name)
	last, ok := kept.(ensured)
	if !ok || last.spec != e.spec.identity() {
		return nil
	}
	conn := e.offers.take(ctx, e.spec.Room)
	if conn == nil {
		return nil
	}
	conn.Close()
	known := last.container
	known.Created, known.Started = false, false
	return &known
}

// podmanAnswers is how long podman may take to answer while there is another way to the container.
const podmanAnswers = time.Second

// ask lets podman answer a question about the container. If podman takes long, and the container is one that was ensured
// before, the error is ErrUnreachable: the container may answer itself. It waits only once.
func (e *ensuring) ask(ctx context.Context, question func(context.Context) error) error {
	if _, known := e.ensured.Load(e.spec.Name); !known || e.waited {
		return question(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, podmanAnswers)
	defer cancel()
	err := question(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		e.waited = true
		return fmt.Errorf("%w within %s: %w", ErrUnreachable, podmanAnswers, err)
	}
	return err
}

// identity is what a container that was ensured for the spec can be used for.
func (s Spec) identity() string {
	return fmt.Sprintln(s.Room, s.Name, s.VolumesOf, s.Image, s.Memory, s.CPUs, s.PIDs, s.Files, s.Runtime, s.Gateway, s.Inits)
}
