package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox/boxinit"
	"matrix-tui/state/keyed"
)

// Rooms are the containers of all rooms: an engine runs them, and they offer connections. It is safe for concurrent
// use.
type Rooms struct {
	Engine
	log     zerolog.Logger
	locks   keyed.Locks // by room: one Ensure, Stop or Remove at a time
	uses    uses        // when each container was last used
	offers  offers
	ensured sync.Map // by room: what the last Ensure returned

	startTime time.Duration // see Container.Run; 0 = startTime
}

// NewRooms returns the containers that an engine runs.
func NewRooms(engine Engine, log zerolog.Logger) *Rooms { return &Rooms{Engine: engine, log: log} }

// ensured is what an Ensure has returned, and for which spec.
type ensured struct {
	Ensured
	spec string
}

// Ensure is [Engine.Ensure] and returns the way into the container. If another room has its name, the container gets
// another one. A container that was ensured before is asked instead of the engine: on a connection that it has offered,
// it answers that it has not been replaced.
func (r *Rooms) Ensure(ctx context.Context, spec Spec) (*Container, error) {
	if spec.Room == "" {
		return nil, errors.New("ensure container: no room")
	}
	spec.Name = cmp.Or(spec.Name, NameFor(spec.Room))
	unlock, err := r.locks.Lock(ctx, spec.Room)
	if err != nil {
		return nil, fmt.Errorf("ensure container %s: %w: %w", spec.Name, errStarting, err)
	}
	defer unlock()
	defer r.Hold(spec.Name)()
	if known := r.answering(ctx, spec); known != nil {
		if container, err := r.open(ctx, *known, spec); !errors.Is(err, ErrNotRunning) {
			return container, err
		}
	}
	identity := spec.identity()
	is, err := r.Engine.Ensure(ctx, spec)
	if whole := WholeName(spec.Room); errors.Is(err, ErrForeign) && spec.Name != whole {
		r.log.Warn().Err(err).Str("room", spec.Room).Msg("another room's container has the name: this one gets a longer one")
		spec.Name = whole
		defer r.Hold(whole)()
		is, err = r.Engine.Ensure(ctx, spec)
	}
	if err != nil {
		return nil, fmt.Errorf("ensure container %s: %w", spec.Name, err)
	}
	if is.Started {
		r.offers.expect(spec.Room)
	}
	container, err := r.open(ctx, is, spec)
	if is.Only && errors.Is(err, ErrNotRunning) { // just replaced, without the bot
		if is, err = r.Engine.Ensure(ctx, spec); err == nil {
			r.offers.expect(spec.Room)
			container, err = r.open(ctx, is, spec)
		}
	}
	if err == nil {
		r.ensured.Store(spec.Room, ensured{is, identity})
	}
	return container, err
}

// open returns the way into a container, which may have replaced another one without any Ensure.
func (r *Rooms) open(ctx context.Context, is Ensured, spec Spec) (*Container, error) {
	container := r.container(is)
	container.waiting = spec.Waiting
	if is.Only && !is.Old && spec.Replacing != nil {
		if err := container.keepLost(ctx, spec.Replacing); err != nil {
			return nil, fmt.Errorf("keep packages of container %s: %w", spec.Name, err)
		}
	}
	return container, nil
}

// answering returns the container of the last Ensure, if it answers and need not be replaced.
func (r *Rooms) answering(ctx context.Context, spec Spec) *Ensured {
	kept, _ := r.ensured.Load(spec.Room)
	last, ok := kept.(ensured)
	if !ok || last.spec != spec.identity() || spec.Fresh && (last.Outdated || r.newer(ctx, last.Image, spec.Image)) {
		return nil
	}
	if !r.answers(ctx, spec.Room) {
		return nil
	}
	last.Created, last.Started = false, false
	return &last.Ensured
}

// answers reports whether a room's container answers on a connection that it has offered.
func (r *Rooms) answers(ctx context.Context, room string) bool {
	conn := r.offers.ready(ctx, room)
	if conn == nil {
		return false
	}
	conn.Close()
	return true
}

// Answering returns a room's container if it was ensured before, runs and answers, or nil. It starts nothing, and does
// not ask the engine.
func (r *Rooms) Answering(ctx context.Context, room string) *Container {
	kept, _ := r.ensured.Load(room)
	if last, ok := kept.(ensured); ok && r.answers(ctx, room) {
		return r.container(last.Ensured)
	}
	return nil
}

// engineAnswers is how long the engine may take to answer while there is another way to the container.
const engineAnswers = time.Second

// newer reports whether an image's name now means another one than the one with that ID.
func (r *Rooms) newer(ctx context.Context, id, image string) bool {
	ctx, cancel := context.WithTimeout(ctx, engineAnswers)
	defer cancel()
	now, err := r.ImageID(ctx, image)
	return err == nil && now != id
}

// identity is what a container that was ensured for the spec can be used for.
func (s Spec) identity() string {
	return fmt.Sprintln(s.Room, s.Name, s.VolumesOf, s.Image, s.Memory, s.CPUs, s.PIDs, s.Files, s.Runtime)
}

// container returns the way into a container.
func (r *Rooms) container(is Ensured) *Container {
	d := door{
		room: is.Room, id: is.ID, name: is.Name, init: is.Init, strength: is.Strength,
		offers: &r.offers, uses: &r.uses, runner: r.Engine,
	}
	if is.Only {
		d.wait = lineTime
	}
	return &Container{Ensured: is, door: d, log: r.log, startTime: cmp.Or(r.startTime, startTime)}
}

// Packages returns the packages that were installed in a room's container, for another one that [Container.Reinstall]
// is called for. It stops the container. If there is none, nothing was installed.
func (r *Rooms) Packages(ctx context.Context, room, name string) (names []string, err error) {
	err = r.ending(ctx, room, name, func() error {
		names, err = r.Engine.Packages(ctx, room, name)
		return err
	})
	return names, err
}

// Stop stops the room's container; its volumes and its own layer are kept. It returns
// ErrNotFound if there is none, and no error if it is already stopped. A container
// without the room's label is left alone: ErrNameTaken.
func (r *Rooms) Stop(ctx context.Context, name, room string) error {
	return r.ending(ctx, room, name, func() error { return r.Engine.Stop(ctx, name, room) })
}

// Remove is [Engine.Remove].
func (r *Rooms) Remove(ctx context.Context, name, room, volumesOf string) error {
	return r.ending(ctx, room, name, func() error { return r.Engine.Remove(ctx, name, room, volumesOf) })
}

// ending does what ends a room's container, and forgets that.
func (r *Rooms) ending(ctx context.Context, room, name string, do func() error) error {
	unlock, err := r.locks.Lock(ctx, room)
	if err != nil {
		return err
	}
	defer unlock()
	r.ensured.Delete(room)
	defer r.uses.forget(name)
	return do()
}

// Hold protects a container, running or not, from StopUnused until release is called.
func (r *Rooms) Hold(name string) (release func()) { return r.uses.begin(name) }

// LastUse returns when a container was last used through this connection; zero if never. Busy means that it is being
// used now.
func (r *Rooms) LastUse(name string) (last time.Time, busy bool) { return r.uses.lastOf(name) }

// StopUnused stops a room's container, unless it is in use or was used after since. It reports whether the container is
// stopped now. Like Stop, it keeps volumes and layer, and leaves a foreign container alone: ErrNameTaken.
func (r *Rooms) StopUnused(ctx context.Context, name, room string, since time.Time) (stopped bool, err error) {
	// An Ensure that returns before has used it, one that comes later starts it again.
	unlock, err := r.locks.Lock(ctx, room)
	if err != nil {
		return false, err
	}
	defer unlock()
	if last, busy := r.LastUse(name); busy || last.After(since) {
		return false, nil
	}
	r.ensured.Delete(room)
	defer r.uses.forget(name)
	if err := r.Engine.Stop(ctx, name, room); err != nil && !errors.Is(err, ErrNotFound) {
		return false, err
	}
	return true, nil
}

// Offer takes a connection on which a room's container waits for an operation. It replaces the one before. If it is
// the room's first one, Offer returns until when a run is parked in the container, as that says: an earlier process
// of the bot has parked it. Otherwise it returns zero.
func (r *Rooms) Offer(room string, conn net.Conn, parked string) (until time.Time) {
	return r.offers.add(room, conn, parked)
}

// Unpark discards the run that is parked in a room's container. It uses the connection that the container has offered.
func (r *Rooms) Unpark(ctx context.Context, room string) error {
	d := &door{room: room, offers: &r.offers, uses: &r.uses}
	_, err := d.short(ctx, "discard parked run of room "+room, boxinit.Request{Op: boxinit.OpPark, Park: &Parking{}}, nil)
	return err
}

// Close closes the engine's idle connections, and those that containers offer from now on. It does not touch containers
// or runs.
func (r *Rooms) Close() {
	r.offers.close()
	r.Engine.Close()
}
