package capacity

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// lookEvery is how often the disk is looked at while tasks wait for space.
const lookEvery = 5 * time.Second

// Low reports whether a disk has less than the reserve free, or cannot take many more files, so that no task may start:
// the disk of the state folder, which has the journal, or the one with podman's storage. A disk that cannot be looked
// at does not count.
func (k *Keeper) Low(ctx context.Context) bool {
	if k.Reserve <= 0 {
		return false
	}
	paths := []string{k.StateDir}
	if storage, err := k.Podman.Storage(ctx); err == nil {
		paths = append(paths, storage)
	}
	return anyLow(uint64(k.Reserve), paths...)
}

func anyLow(reserve uint64, paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		free, err := FreeSpace(path)
		return err == nil && free.Low(reserve)
	})
}

// AwaitSpace returns when no disk is low. It calls say once if it has to wait.
func (k *Keeper) AwaitSpace(ctx context.Context, say func()) error {
	for first := true; k.Low(ctx); first = false {
		if first {
			say()
		}
		if err := retry.Sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// mostRooms is how many rooms SayLargest names.
const mostRooms = 3

// SayLargest names the rooms that take the most of podman's storage; "" if there are none. It takes a while.
func (k *Keeper) SayLargest(ctx context.Context) (string, error) {
	used, err := k.Podman.Usage(ctx)
	if err != nil {
		return "", err
	}
	return sayLargest(k.Store, used), nil
}

func sayLargest(store *state.Store, used map[string]int64) string {
	size := map[string]int64{}
	for _, room := range store.Rooms() {
		size[room] = used[room]
		if origin := store.VolumesOf(room); origin != room {
			size[room] += used[origin]
		}
	}
	rooms := slices.SortedFunc(maps.Keys(size),
		func(a, b string) int { return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, room := range rooms[:min(len(rooms), mostRooms)] {
		if size[room] > 0 {
			parts = append(parts, text.Code(room)+" ("+text.Size(size[room])+")")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "The rooms that take the most space: " + strings.Join(parts, ", ") + "."
}
