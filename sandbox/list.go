package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/bindings/containers"

	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

// Info describes one container in a List.
type Info struct {
	ID, Name, Room string
	// State is podman's name for it: "running", "exited", "created", "paused", …
	State   string
	Image   string
	Created time.Time
	Started time.Time // the last time; zero if never
}

// List returns every container with a room label, running or not, in one call.
func (p *Podman) List(ctx context.Context) ([]Info, error) {
	options := new(containers.ListOptions).WithAll(true).WithFilters(map[string][]string{"label": {labelRoom}})
	list, err := containers.List(p.with(ctx), options)
	if err != nil {
		return nil, explain(err, "list", "containers")
	}
	infos := make([]Info, 0, len(list))
	for _, c := range list {
		info := Info{ID: c.ID, Room: c.Labels[labelRoom], State: c.State, Image: c.Image, Created: c.Created}
		if c.StartedAt > 0 { // podman reports a container that was never started as started in the year 1
			info.Started = time.Unix(c.StartedAt, 0)
		}
		if len(c.Names) > 0 {
			info.Name = c.Names[0]
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// Stop stops the room's container; its volumes and its own layer are kept. It returns
// ErrNotFound if there is none, and no error if it is already stopped. A container
// without the room's label is left alone: ErrNameTaken.
func (p *Podman) Stop(ctx context.Context, name, room string) error {
	unlock, err := p.names.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	return p.stop(ctx, name, room)
}

// stop is Stop for a caller that holds the lock of the name.
func (p *Podman) stop(ctx context.Context, name, room string) error {
	data, err := p.inspect(ctx, name, room)
	if err != nil {
		return explain(err, "stop container", name)
	}
	defer p.uses.forget(name)
	if data.State.Status == "paused" {
		if err := containers.Unpause(p.with(ctx), data.ID, nil); err != nil {
			return explain(err, "unpause container", name)
		}
	}
	if !data.State.Running && !data.State.Paused && data.State.Status != "stopping" {
		return nil
	}
	return explain(containers.Stop(p.with(ctx), data.ID, nil), "stop container", name)
}

// Destroy removes the room's container, running or not; its volumes are kept. It returns
// ErrNotFound if there is none. A container without the room's label is left alone:
// ErrNameTaken.
func (p *Podman) Destroy(ctx context.Context, name, room string) error {
	unlock, err := p.names.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	data, err := p.inspect(ctx, name, room)
	if err != nil {
		return explain(err, "destroy container", name)
	}
	defer p.uses.forget(name)
	defer p.ensured.Delete(name)
	return p.remove(ctx, data.ID)
}

// inspect inspects a room's container; without its label it is ErrNameTaken.
func (p *Podman) inspect(ctx context.Context, name, room string) (*define.InspectContainerData, error) {
	data, err := containers.Inspect(p.with(ctx), name, nil)
	if err == nil {
		err = owned(data, room)
	}
	return data, err
}

// remove removes a container but not its volumes. The first attempt may fail on a busy
// mount.
func (p *Podman) remove(ctx context.Context, id string) error {
	options := new(containers.RemoveOptions).WithForce(true).WithVolumes(false)
	var err error
	for range 3 {
		reports, failed := containers.Remove(p.with(ctx), id, options)
		err = failed
		for _, r := range reports {
			if err == nil && r != nil {
				err = r.Err
			}
		}
		if err == nil {
			return nil
		}
		if !strings.Contains(err.Error(), "busy") {
			break
		}
		if err := retry.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	if err = explain(err, "remove container", id); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// errHalfRemoved means that podman died while it removed the container: it is listed, but its files are gone, and podman
// cannot inspect or start it.
var errHalfRemoved = sentence.New(errors.New("half-removed container"), "Podman was interrupted while it removed the room's container. The operator can remove the rest with `podman rm --force`.")

// removeRest removes what is left of a room's container: see errHalfRemoved. The container of another room is left alone:
// ErrNameTaken.
func (p *Podman) removeRest(ctx context.Context, name, room string) error {
	all, err := p.List(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		switch {
		case one.Name == name && one.Room == room:
			return p.remove(ctx, one.ID)
		case one.Name == name:
			return fmt.Errorf("container %s is labelled for room %q: %w", name, one.Room, errForeign)
		}
	}
	return nil // removed meanwhile
}

// Restart stops everything in the container and starts it again. The log says why.
func (c *Container) Restart(ctx context.Context, why error) error {
	ctx, cancel := context.WithTimeout(ctx, restartTime)
	defer cancel()
	unlock, err := c.podman.names.Lock(ctx, c.Name)
	if err != nil {
		return err
	}
	defer unlock()
	c.podman.log.Warn().Str("container", c.Name).Str("room", c.Room).AnErr("reason", why).Msg("the container does not start or stop a run: restarting it")
	err = containers.Restart(c.podman.with(ctx), c.ID, new(containers.RestartOptions).WithTimeout(1))
	return explain(err, "restart container", c.Name)
}

// resume unpauses a paused container; paused is false if it was not paused.
func (c *Container) resume(ctx context.Context) (paused bool, err error) {
	if paused, err = c.paused(ctx); err != nil || !paused {
		return paused, err
	}
	return true, explain(containers.Unpause(c.podman.with(ctx), c.ID, nil), "unpause container", c.Name)
}

// paused reports whether the container is paused. A missing container is not.
func (c *Container) paused(ctx context.Context) (bool, error) {
	data, err := containers.Inspect(c.podman.with(ctx), c.ID, nil)
	if err = explain(err, "inspect container", c.Name); err != nil {
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return false, err
	}
	return data.State.Status == "paused", nil
}
