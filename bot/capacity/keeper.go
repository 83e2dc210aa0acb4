// Package capacity keeps the host usable for all rooms: it stops containers that nobody uses, limits how many run at
// once, and says when the disk is too full for another task. It never starts or removes a container, and never stops
// one in which a task runs.
package capacity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox"
	"matrix-tui/state"
)

const (
	maxPause  = 10 * time.Minute // between two looks
	fullPause = 15 * time.Second // the same while too many containers run
	lookTime  = 5 * time.Minute  // timeout of one look; stopping a container takes up to ten seconds

	// settling is how long a container is safe from the limit after its last use, because a task's next command may
	// follow in a moment.
	settling = 10 * time.Second
)

// Keeper looks after the containers of this bot's rooms, and the disks.
type Keeper struct {
	Podman   *sandbox.Rooms
	Store    *state.Store
	Journal  *state.Journal
	StateDir string
	Asks     func(room string) bool // whether a question of the room waits for an answer
	Stopped  func(room string)      // called when the room's container has been stopped
	Idle     time.Duration          // a container that has not been used for this long is stopped; 0 = never
	Max      int                    // how many containers may run; 0 = as many as suit the host
	Reserve  int64                  // bytes of disk without which no task starts; 0 = none
	Log      zerolog.Logger

	started chan struct{}
	sized   sync.Once
}

// Prepare makes the Keeper ready for use.
func (k *Keeper) Prepare() *Keeper {
	k.started = make(chan struct{}, 1)
	return k
}

// Started tells the Keeper that a container was started.
func (k *Keeper) Started() {
	select {
	case k.started <- struct{}{}:
	default:
	}
}

// Watch stops containers until ctx ends. It first looks after a pause, because a start of the bot has more urgent work.
func (k *Keeper) Watch(ctx context.Context) {
	for excess := 0; ; {
		pause := maxPause
		if k.Idle > 0 {
			pause = min(maxPause, max(time.Second, k.Idle/12))
		}
		if excess > 0 {
			pause = min(pause, fullPause)
		}
		select {
		case <-k.started:
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		var err error
		if excess, err = k.look(ctx); err != nil && ctx.Err() == nil {
			k.Log.Warn().Err(err).Msg("cannot look for idle containers")
		}
	}
}

// look stops what should be stopped now, and returns how many containers are still running beyond the limit.
func (k *Keeper) look(ctx context.Context) (excess int, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	all, err := k.running(ctx)
	if err != nil {
		return 0, err
	}
	most := k.limit(ctx)
	idle, extra := choose(all, time.Now(), k.Idle, most)
	excess = len(all) - most
	for _, one := range idle {
		if k.stop(ctx, one, "idle container stopped: the room's next task starts it") {
			excess--
		}
	}
	for _, one := range extra {
		if excess > 0 && k.stop(ctx, one, "too many containers are running: stopped the one that was unused for longest") {
			excess--
		}
	}
	return excess, ctx.Err()
}

func (k *Keeper) stop(ctx context.Context, one container, why string) bool {
	stopped, err := k.Podman.StopUnused(ctx, one.name, one.room, one.used)
	if err != nil && ctx.Err() == nil {
		k.Log.Warn().Err(err).Str("room", one.room).Str("container", one.name).Msg("cannot stop a container")
	}
	if stopped {
		k.Stopped(one.room)
		k.Log.Info().Str("room", one.room).Str("container", one.name).Time("used", one.used).Msg(why)
	}
	return stopped
}

// running returns this bot's containers that run.
func (k *Keeper) running(ctx context.Context) ([]container, error) {
	infos, err := k.Podman.List(ctx)
	if err != nil {
		return nil, err
	}
	open, err := k.Journal.Events.BusyRooms(ctx)
	if err != nil {
		return nil, fmt.Errorf("list busy rooms: %w", err)
	}
	own := k.Store.Containers.All()
	var all []container
	for _, info := range infos {
		if !runs(own, info) {
			continue
		}
		one := container{name: info.Name, room: info.Room, used: info.Started, asks: k.Asks(info.Room)}
		if _, one.works = slices.BinarySearch(open, info.Room); one.works {
			all = append(all, one)
			continue
		}
		last, busy := k.Podman.LastUse(info.Name)
		if last.IsZero() { // not since the bot was started
			task, err := k.Journal.Tasks.Last(ctx, info.Room)
			if err != nil && !errors.Is(err, state.ErrNotFound) {
				return nil, fmt.Errorf("look up the room's last task: %w", err)
			}
			last = task.Updated
		}
		one.works = busy
		if last.After(one.used) {
			one.used = last
		}
		all = append(all, one)
	}
	return all, nil
}

// container is a running container.
type container struct {
	name, room string
	used       time.Time // last
	works      bool      // a task runs or is about to
	asks       bool      // a question waits for an answer
}

// byUse puts the container that is missed least first.
func byUse(a, b container) int {
	return cmp.Or(fromBool(a.works)-fromBool(b.works), fromBool(a.asks)-fromBool(b.asks), a.used.Compare(b.used))
}

func fromBool(b bool) int {
	if b {
		return 1
	}
	return 0
}

// choose returns the containers to stop because nobody has used them for the idle time, and the others that may be
// stopped if too many run, in that order. A container whose room has a waiting question is stopped only for the limit,
// and only after those that have none: the answer starts it again.
func choose(all []container, now time.Time, idle time.Duration, most int) (unused, extra []container) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, byUse)
	for _, one := range all {
		switch {
		case one.works:
		case idle > 0 && !one.asks && now.Sub(one.used) >= idle:
			unused = append(unused, one)
		case now.Sub(one.used) >= settling:
			extra = append(extra, one)
		}
	}
	if len(all)-len(unused) <= most {
		extra = nil
	}
	return unused, extra
}
