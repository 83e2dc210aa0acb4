package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/containers/podman/v5/pkg/bindings/system"
	"github.com/containers/podman/v5/pkg/domain/entities/types"
)

// Usage returns how many bytes the volumes and the container's own layer of each room take, by the room on their
// labels. Podman counts every file for it, which can take a while: do not ask without need.
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
