package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/bindings/system"
	"github.com/containers/podman/v5/pkg/bindings/volumes"
	"github.com/containers/podman/v5/pkg/domain/entities/types"
)

// Usage returns how many bytes the volumes and the container's own layer of each room take, by the room on their labels.
// Podman counts every file for it, which can take a while: do not ask without need.
func (p *Podman) Usage(ctx context.Context) (map[string]int64, error) {
	var report *types.SystemDfReport
	again := pauses().Until(time.Now().Add(retryTime))
	for { // it fails if a container or volume is removed meanwhile
		var err error
		report, err = system.DiskUsage(p.with(ctx), nil)
		if err = explain(err, "measure", "containers and volumes"); err == nil {
			break
		}
		if !errors.Is(err, ErrNotFound) || again.Wait(ctx, err) != nil {
			return nil, err
		}
	}
	rooms, err := p.VolumeRooms(ctx)
	if err != nil {
		return nil, err
	}
	used := map[string]int64{}
	for _, volume := range report.Volumes {
		if room := rooms[volume.VolumeName]; room != "" {
			used[room] += volume.Size
		}
	}
	infos, err := p.List(ctx)
	if err != nil {
		return nil, err
	}
	owner := make(map[string]string, len(infos))
	for _, info := range infos {
		owner[info.ID] = info.Room
	}
	for _, container := range report.Containers {
		if room := owner[container.ContainerID]; room != "" {
			used[room] += container.RWSize
		}
	}
	return used, nil
}

// VolumeRooms returns the rooms on the labels of all volumes, by the volume's name.
func (p *Podman) VolumeRooms(ctx context.Context) (map[string]string, error) {
	list, err := p.listVolumes(ctx, labelRoom)
	if err != nil {
		return nil, err
	}
	rooms := make(map[string]string, len(list))
	for _, v := range list {
		rooms[v.Name] = v.Labels[labelRoom]
	}
	return rooms, nil
}

// Remove removes a room's container and, if volumesOf is not "", the volumes of that room, for good. Its range of user IDs
// is free again then. What belongs to another room is left alone; where that has the container's name, this one's has a
// longer one.
func (p *Podman) Remove(ctx context.Context, name, room, volumesOf string) error {
	unlock, err := p.names.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	data, err := containers.Inspect(p.with(ctx), name, nil)
	err = explain(err, "remove container", name)
	if whole := wholeName(room); name != whole && (errors.Is(err, ErrNotFound) || err == nil && owned(data, room) != nil) {
		return p.Remove(ctx, whole, room, volumesOf)
	}
	switch {
	case err == nil:
		if err := owned(data, room); err != nil {
			return err
		}
		if err := p.remove(ctx, data.ID); err != nil {
			return err
		}
		p.uses.forget(name)
		p.ensured.Delete(name)
	case errors.Is(err, errHalfRemoved):
		if err := p.removeRest(ctx, name, room); err != nil {
			return err
		}
	case !errors.Is(err, ErrNotFound):
		return err
	}
	if volumesOf == "" {
		return nil
	}
	p.slots.Lock()
	defer p.slots.Unlock()
	for _, kind := range volumeKinds {
		volume, _, err := p.volumeOf(ctx, kind, volumesOf)
		if errors.Is(err, ErrNotFound) {
			continue
		} else if err != nil {
			return err
		}
		if err := explain(volumes.Remove(p.with(ctx), volume, nil), "remove volume", volume); err != nil && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("remove the files of %s: %w", room, err)
		}
	}
	return nil
}
