package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/rs/zerolog"
)

// Podman is the [Engine] that runs containers with podman. It is safe for concurrent use.
type Podman struct {
	*service
	Place    Place // set it before the first Ensure
	volumes  roomVolumes
	together sync.Once // limits all containers together
}

// Place says where this host has what is mounted into containers.
type Place struct {
	Doors   Doors  // the rooms' gateways; nil = none
	Inits   string // the folder for copies of the images' boxinit; "" = containers use the one in their image
	Version string // the bot's, for the containers' labels
}

// Doors are the folders with the sockets of the rooms' gateways. They are implemented by the gateway.
type Doors interface {
	// Folder returns a room's folder. It exists while the room is open.
	Folder(room string) string
	// Renew replaces it: what still runs in an earlier container has the old one. Podman may remove a container just when
	// it is started again, and lose sight of its processes.
	Renew(room string) error
}

// Connect connects to podman's service at uri ("unix:///…/podman.sock"). If uri is
// empty, it uses $CONTAINER_HOST, or else the default socket of the current user. It
// returns ErrUnreachable if nothing answers there.
func Connect(ctx context.Context, uri string, log zerolog.Logger) (*Podman, error) {
	s, err := dial(ctx, uri, log)
	if err != nil {
		return nil, err
	}
	return &Podman{service: s, volumes: roomVolumes{service: s}}, nil
}

// Restart stops everything in a container and starts it again.
func (p *Podman) Restart(ctx context.Context, id string) error {
	return containers.Restart(p.with(ctx), id, new(containers.RestartOptions).WithTimeout(1))
}

// Paused reports whether a container is paused.
func (p *Podman) Paused(ctx context.Context, id string) (bool, error) {
	data, err := containers.Inspect(p.with(ctx), id, nil)
	if err = explain(err, "inspect container", id); errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && data.State.Status == "paused", err
}

// Unpause continues a paused container.
func (p *Podman) Unpause(ctx context.Context, id string) error {
	return explain(containers.Unpause(p.with(ctx), id, nil), "unpause container", id)
}

// Starting is the state of a sandbox that was started, and does not run yet.
const Starting = "starting"

// Info describes one container in a List.
type Info struct {
	ID, Name, Room string
	// State is podman's name for it: "running", "exited", "created", "paused", … Or it is Starting.
	State   string
	Image   string
	Created time.Time
	Started time.Time // the last time; zero if never, or if that is not known of one that does not run
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

// Stop stops the room's container: see [Rooms.Stop].
func (p *Podman) Stop(ctx context.Context, name, room string) error {
	data, err := p.inspect(ctx, name, room)
	if err != nil {
		return explain(err, "stop container", name)
	}
	return p.halt(ctx, data)
}

// Remove removes a room's container and, if volumesOf is not "", the volumes of that room, for good. Its range of user
// IDs is free again then. What belongs to another room is left alone; where that has the container's name, this one's
// has a longer one. It is no error if there is none.
func (p *Podman) Remove(ctx context.Context, name, room, volumesOf string) error {
	data, err := p.inspect(ctx, name, room)
	err = explain(err, "remove container", name)
	if whole := WholeName(room); name != whole && IsGone(err) {
		return p.Remove(ctx, whole, room, volumesOf)
	}
	switch {
	case err == nil:
		err = p.remove(ctx, data.ID)
	case errors.Is(err, errHalfRemoved):
		err = p.remove(ctx, name)
	case errors.Is(err, ErrNotFound):
		err = nil
	}
	if err != nil || volumesOf == "" {
		return err
	}
	if err := p.volumes.removeOf(ctx, volumesOf); err != nil {
		return fmt.Errorf("remove the files of %s: %w", room, err)
	}
	return nil
}

// HasVolumes reports whether at least one of the room's volumes exists on this host.
func (p *Podman) HasVolumes(ctx context.Context, room string) (bool, error) {
	return p.volumes.has(ctx, room)
}

// VolumeRooms returns the rooms on the labels of all volumes, by the volume's name.
func (p *Podman) VolumeRooms(ctx context.Context) (map[string]string, error) {
	return p.volumes.rooms(ctx)
}
