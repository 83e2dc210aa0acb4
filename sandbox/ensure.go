package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/bindings/containers"
	rspec "github.com/opencontainers/runtime-spec/specs-go"

	"matrix-tui/state/retry"
)

// Container is a container that belongs to one room, running when Ensure returned it.
type Container struct {
	ID, Name, Room string
	// Created says that this Ensure made the container, Started that it started
	// it (a new one or a stopped one). Neither: it was running.
	Created, Started bool

	podman *Podman
}

// ensureTries bounds how often Ensure looks again after a step.
const ensureTries = 8

// Ensure returns the room's container, running: found and running it is used as it is,
// stopped it is started, paused it goes on, missing or broken it is made anew on
// its old volumes. A container of that name whose label is not Spec.Room is left
// alone: ErrNameTaken.
func (p *Podman) Ensure(ctx context.Context, spec Spec) (*Container, error) {
	if spec.Room == "" {
		return nil, errors.New("ensure container: no room")
	}
	if spec.Name == "" {
		spec.Name = NameFor(spec.Room)
	}
	unlock, err := p.names.lock(ctx, spec.Name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	e := ensuring{Podman: p, spec: spec, container: Container{Name: spec.Name, Room: spec.Room, podman: p}}
	again := pauses().Until(time.Now().Add(patience))
	for tries := 0; tries < ensureTries; {
		done, err := e.step(ctx)
		switch {
		case done:
			return &e.container, nil
		case err == nil:
			tries++
		case !errors.Is(err, ErrUnreachable) || again.Wait(ctx, err) != nil:
			return nil, fmt.Errorf("ensure container %s: %w", spec.Name, err)
		}
	}
	return nil, fmt.Errorf("ensure container %s: it does not stay up; see `podman logs %s`", spec.Name, spec.Name)
}

// ensuring is one Ensure on its way.
type ensuring struct {
	*Podman
	spec      Spec
	container Container
	unlimited bool // the host refused the limits
	remade    bool // a broken container was removed already
}

// step looks at the container and does the one thing that is next. Done means that
// it runs.
func (e *ensuring) step(ctx context.Context) (done bool, err error) {
	data, err := containers.Inspect(e.with(ctx), e.spec.Name, nil)
	if err != nil {
		if err = explain(err, "inspect container", e.spec.Name); errors.Is(err, ErrNotFound) {
			return false, e.create(ctx)
		}
		return false, err
	}
	if err := owned(data, e.spec.Room); err != nil {
		return false, err
	}
	e.container.ID = data.ID
	if stale, err := e.stale(ctx, data); err != nil {
		return false, err
	} else if stale {
		e.spec.Fresh = false
		e.log.Info().Str("box", e.spec.Name).Str("room", e.spec.Room).Msg("there is a newer image: the container is made anew on its volumes")
		return false, e.remove(ctx, data.ID)
	}
	switch next(data, e.spec.Gateway) {
	case actUse:
		if data.State.Pid > 0 && lostDoor(data.State.Pid, e.spec.Gateway) {
			e.log.Warn().Str("box", e.spec.Name).Str("room", e.spec.Room).Msg("the gateway's directory was replaced under the container: it is started again")
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
	return false, e.remake(ctx, data.ID, "state "+data.State.Status)
}

// stale tells whether a container that is to be fresh was made of another image than
// there is now. Where there is none, the old one does.
func (e *ensuring) stale(ctx context.Context, data *define.InspectContainerData) (bool, error) {
	if !e.spec.Fresh {
		return false, nil
	}
	now, err := e.ImageID(ctx, e.spec.Image)
	if errors.Is(err, ErrImageMissing) {
		return false, nil
	}
	return err == nil && data.Config.Labels[labelImage] != now, err
}

type action int

const (
	actUse action = iota
	actUnpause
	actStart
	actWait
	actRemake
)

// next decides what brings a container up.
func next(data *define.InspectContainerData, gateway string) action {
	if gateway != "" && !mounts(data, gateway) {
		return actRemake // the gateway's directory has moved: the container would have no door
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

// lostDoor says whether a running container has another directory at the gateway's
// place than the one that is there now: it was removed and made again, and what
// listens in the new one is out of the container's reach. Where the host does not let
// us look, nothing is lost.
func lostDoor(pid int, gateway string) bool {
	if gateway == "" {
		return false
	}
	inside, err := os.Stat(fmt.Sprintf("/proc/%d/root%s", pid, gatewayMount))
	if err != nil {
		return false
	}
	outside, err := os.Stat(gateway)
	return err != nil || !os.SameFile(inside, outside)
}

// owned refuses a container that is not the room's.
func owned(data *define.InspectContainerData, room string) error {
	label := ""
	if data.Config != nil {
		label = data.Config.Labels[labelRoom]
	}
	if label != room {
		return fmt.Errorf("container %s is labelled for room %q: %w", data.Name, label, ErrNameTaken)
	}
	return nil
}

func mounts(data *define.InspectContainerData, gateway string) bool {
	for _, m := range data.Mounts {
		if m.Destination == gatewayMount {
			return m.Source == gateway
		}
	}
	return false
}

// makeGateway makes the gateway's directory, which a reboot may have swept away:
// without it neither create nor start works.
func (e *ensuring) makeGateway() error {
	if e.spec.Gateway == "" {
		return nil
	}
	if err := os.MkdirAll(e.spec.Gateway, 0o755); err != nil {
		return fmt.Errorf("make the gateway's directory: %w", err)
	}
	// Root in the container is nobody in particular outside, whatever the umask here.
	if err := os.Chmod(e.spec.Gateway, 0o755); err != nil {
		return fmt.Errorf("open the gateway's directory: %w", err)
	}
	return nil
}

func (e *ensuring) create(ctx context.Context) error {
	if err := e.makeGateway(); err != nil {
		return err
	}
	imageID, err := e.ImageID(ctx, e.spec.Image)
	if err != nil {
		return err
	}
	slot, err := e.volumesFor(ctx, e.spec.volumesOf())
	if err != nil {
		return err
	}
	limits, missing := &rspec.LinuxResources{}, []string(nil)
	if !e.unlimited {
		host, err := e.about(ctx)
		if err != nil {
			return err
		}
		limits, missing = e.spec.resources(host)
	}
	for _, controller := range missing {
		e.warnOnce(controller, "this host has no such cgroup controller: containers run without that limit")
	}
	_, err = containers.CreateWithSpec(e.with(ctx), e.spec.generator(imageID, slot, limits), nil)
	err = explain(err, "create container", e.spec.Name)
	if errors.Is(err, ErrNameTaken) {
		return nil // somebody was faster; the next look says who
	}
	e.container.Created = err == nil
	return err
}

func (e *ensuring) start(ctx context.Context, data *define.InspectContainerData) error {
	if err := e.makeGateway(); err != nil {
		return err
	}
	err := containers.Start(e.with(ctx), data.ID, nil)
	if err == nil {
		e.container.Started = true
		return nil
	}
	err = explain(err, "start container", e.spec.Name)
	switch {
	case ctx.Err() != nil, errors.Is(err, ErrUnreachable), errors.Is(err, ErrNoSpace), errors.Is(err, ErrOutOfMemory):
		return err
	case errors.Is(err, ErrNotFound):
		return nil // removed meanwhile; the next look makes it anew
	case !e.unlimited && refusesLimits(err):
		e.unlimited = true
		e.warnOnce("any", "this host refuses a container with limits: it runs without ("+err.Error()+")")
		return e.remove(ctx, data.ID)
	}
	if e.remade {
		return err
	}
	return e.remake(ctx, data.ID, err.Error())
}

// refusesLimits says whether a start failed for the sake of cgroups.
func refusesLimits(err error) bool {
	text := err.Error()
	return strings.Contains(text, "cgroup") && (strings.Contains(text, "memory") ||
		strings.Contains(text, "cpu") || strings.Contains(text, "pids") || strings.Contains(text, "controller"))
}

// remake removes a container that cannot be used; the next look makes a new one on
// its volumes.
func (e *ensuring) remake(ctx context.Context, id, why string) error {
	if e.remade {
		return fmt.Errorf("the container was made anew and cannot be used all the same: %s", why)
	}
	e.remade = true
	e.log.Warn().Str("box", e.spec.Name).Str("room", e.spec.Room).Str("reason", why).Msg("container cannot be used; made anew on its volumes")
	return e.remove(ctx, id)
}
