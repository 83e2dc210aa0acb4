package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/containers/podman/v5/pkg/bindings/volumes"
	"github.com/containers/podman/v5/pkg/domain/entities/types"

	"matrix-tui/state/roomname"
)

// noSlot stands for "no range of user IDs".
const noSlot = -1

// volumesFor creates the room's two volumes if they are missing and returns their names and the room's
// slot. The slot is stored on the volumes, because they hold the files owned by its
// user IDs; containers come and go.
func (p *Podman) volumesFor(ctx context.Context, room string) (names [2]string, slot int, err error) {
	host, err := p.about(ctx)
	if err != nil {
		return names, noSlot, err
	}
	p.slots.Lock()
	defer p.slots.Unlock()
	var missing []string
	slot = noSlot
	for i, kind := range volumeKinds {
		name, found, err := p.volumeOf(ctx, kind, room)
		names[i] = name
		if errors.Is(err, ErrNotFound) {
			missing = append(missing, name)
			continue
		}
		if err != nil {
			return names, noSlot, err
		}
		if slot != noSlot && found != slot {
			return names, noSlot, fmt.Errorf("volume %s: slot %d, want %d: %w", name, found, slot, ErrNameTaken)
		}
		slot = found
	}
	if host.rootless {
		slot = noSlot
	} else if slot == noSlot {
		if len(missing) < len(names) {
			return names, noSlot, fmt.Errorf("volumes of %s: no slot label: %w", room, ErrNameTaken)
		}
		if slot, err = p.freeSlot(ctx); err != nil {
			return names, noSlot, err
		}
	}
	for _, name := range missing {
		labels := map[string]string{labelRoom: room}
		if slot != noSlot {
			labels[labelSlot] = strconv.Itoa(slot)
		}
		if _, err := volumes.Create(p.with(ctx), types.VolumeCreateOptions{Name: name, Labels: labels, Label: labels}, nil); err != nil {
			return names, noSlot, explain(err, "create volume", name)
		}
	}
	return names, slot, nil
}

// volumeOf returns the name of one of the room's volumes, and its slot. ErrNotFound means that there is none, and that
// the name is free. Another room may have the same short name: then it is the one with the whole hash.
func (p *Podman) volumeOf(ctx context.Context, kind, room string) (name string, slot int, err error) {
	name, whole := kind+roomname.Short(room), kind+roomname.Whole(room)
	slot, err = p.slotOf(ctx, name, room)
	taken := errors.Is(err, ErrNameTaken)
	if !taken && !errors.Is(err, ErrNotFound) {
		return name, slot, err
	}
	if found, other := p.slotOf(ctx, whole, room); taken || !errors.Is(other, ErrNotFound) {
		return whole, found, other
	}
	return name, slot, err
}

// slotOf returns the slot on a volume's label, or noSlot. If the volume does not belong
// to the room, it returns ErrNameTaken.
func (p *Podman) slotOf(ctx context.Context, name, room string) (int, error) {
	volume, err := volumes.Inspect(p.with(ctx), name, nil)
	if err != nil {
		return noSlot, explain(err, "inspect volume", name)
	}
	if volume.Name != name { // podman takes the beginning of a name for it
		return noSlot, explain(ErrNotFound, "inspect volume", name)
	}
	if volume.Labels[labelRoom] != room {
		return noSlot, fmt.Errorf("volume %s: labelled for room %q: %w", name, volume.Labels[labelRoom], ErrNameTaken)
	}
	return parseSlot(volume.Labels), nil
}

// freeSlot returns the lowest slot that no volume uses.
func (p *Podman) freeSlot(ctx context.Context) (int, error) {
	list, err := p.listVolumes(ctx, labelSlot)
	if err != nil {
		return noSlot, err
	}
	var taken []int
	for _, v := range list {
		taken = append(taken, parseSlot(v.Labels))
	}
	return lowestFree(taken)
}

// listVolumes returns the volumes that have a label.
func (p *Podman) listVolumes(ctx context.Context, label string) ([]*types.VolumeListReport, error) {
	options := new(volumes.ListOptions).WithFilters(map[string][]string{"label": {label}})
	again := pauses().Until(time.Now().Add(retryTime)) // each attempt may meet another volume that is being removed
	list, err := volumes.List(p.with(ctx), options)
	for err != nil && errors.Is(explain(err, "list", "volumes"), ErrNotFound) && again.Wait(ctx, err) == nil {
		list, err = volumes.List(p.with(ctx), options)
	}
	return list, explain(err, "list", "volumes")
}

func lowestFree(taken []int) (int, error) {
	used := make(map[int]bool)
	for _, slot := range taken {
		used[slot] = true
	}
	for slot := range maxSlots {
		if !used[slot] {
			return slot, nil
		}
	}
	return noSlot, ErrNoSlot
}

func parseSlot(labels map[string]string) int {
	slot, err := strconv.Atoi(labels[labelSlot])
	if err != nil || slot < 0 || slot >= maxSlots {
		return noSlot
	}
	return slot
}
