package capacity

import (
	"context"
	"slices"
	"time"

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
