package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/containers/podman/v5/pkg/bindings/volumes"
	"github.com/containers/podman/v5/pkg/domain/entities/types"

	"matrix-tui/state/roomname"
)

// noSlot stands for "no range of user IDs".
const noSlot = -1

// roomVolumes are those of all rooms.
type roomVolumes struct {
	*service
	changing sync.Mutex // locked while a slot is chosen and stored on a volume
}

// ensure creates the room's two volumes if they are missing and returns their names and the room's
// slot. The slot is stored on the volumes, because they hold the files owned by its
// user IDs; containers come and go.
func (v *roomVolumes) ensure(ctx context.Context, room string) (names [2]string, slot int, err error) {
	host, err := v.about(ctx)
	if err != nil {
		return names, noSlot, err
	}
	v.changing.Lock()
	defer v.changing.Unlock()
	var missing []string
	slot = noSlot
	for i, kind := range volumeKinds {
		name, found, err := v.of(ctx, kind, room)
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
		if slot, err = v.freeSlot(ctx); err != nil {
			return names, noSlot, err
		}
	}
	for _, name := range missing {
		labels := map[string]string{labelRoom: room}
		if slot != noSlot {
			labels[labelSlot] = strconv.Itoa(slot)
		}
		if _, err := volumes.Create(v.with(ctx), types.VolumeCreateOptions{Name: name, Labels: labels, Label: labels},
			nil); err != nil {
			return names, noSlot, explain(err, "create volume", name)
		}
	}
	return names, slot, nil
}

// of returns the name of one of the room's volumes, and its slot. ErrNotFound means that there is none, and that
// the name is free. Another room may have the same short name: then it is the one with the whole hash.
func (v *roomVolumes) of(ctx context.Context, kind, room string) (name string, slot int, err error) {
	name, whole := kind+roomname.Short(room), kind+roomname.Whole(room)
	slot, err = v.slotOf(ctx, name, room)
	taken := errors.Is(err, ErrNameTaken)
	if !taken && !errors.Is(err, ErrNotFound) {
		return name, slot, err
	}
	if found, other := v.slotOf(ctx, whole, room); taken || !errors.Is(other, ErrNotFound) {
		return whole, found, other
	}
	return name, slot, err
}

// slotOf returns the slot on a volume's label, or noSlot. If the volume does not belong
// to the room, it returns ErrNameTaken.
func (v *roomVolumes) slotOf(ctx context.Context, name, room string) (int, error) {
	volume, err := volumes.Inspect(v.with(ctx), name, nil)
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
func (v *roomVolumes) freeSlot(ctx context.Context) (int, error) {
	list, err := v.list(ctx, labelSlot)
	if err != nil {
		return noSlot, err
	}
	var taken []int
	for _, v := range list {
		taken = append(taken, parseSlot(v.Labels))
	}
	return lowestFree(taken)
}

// list returns the volumes that have a label.
func (v *roomVolumes) list(ctx context.Context, label string) ([]*types.VolumeListReport, error) {
	options := new(volumes.ListOptions).WithFilters(map[string][]string{"label": {label}})
	again := pauses().Until(time.Now().Add(retryTime)) // each attempt may meet another volume that is being removed
	list, err := volumes.List(v.with(ctx), options)
	for err != nil && errors.Is(explain(err, "list", "volumes"), ErrNotFound) && again.Wait(ctx, err) == nil {
		list, err = volumes.List(v.with(ctx), options)
	}
	return list, explain(err, "list", "volumes")
}

// has reports whether at least one of the room's volumes exists.
func (v *roomVolumes) has(ctx context.Context, room string) (bool, error) {
	for _, kind := range volumeKinds {
		if _, _, err := v.of(ctx, kind, room); !errors.Is(err, ErrNotFound) {
			return err == nil, err
		}
	}
	return false, nil
}

// rooms returns the rooms on the labels of all volumes, by the volume's name.
func (v *roomVolumes) rooms(ctx context.Context) (map[string]string, error) {
	list, err := v.list(ctx, labelRoom)
	if err != nil {
		return nil, err
	}
	rooms := make(map[string]string, len(list))
	for _, one := range list {
		rooms[one.Name] = one.Labels[labelRoom]
	}
	return rooms, nil
}

// removeOf removes a room's volumes.
func (v *roomVolumes) removeOf(ctx context.Context, room string) error {
	v.changing.Lock()
	defer v.changing.Unlock()
	for _, kind := range volumeKinds {
		name, _, err := v.of(ctx, kind, room)
		if err == nil {
			err = explain(volumes.Remove(v.with(ctx), name, nil), "remove volume", name)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
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
