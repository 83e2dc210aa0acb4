package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"matrix-tui/agent"
	"matrix-tui/bot/capacity"
	"matrix-tui/bot/crash"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

const (
	// parkTime bounds parking a run, with the start of the room's container. Other rooms wait for that.
	parkTime = 20 * time.Second
	// leastFree is the host's free memory below which no run is parked, in bytes. A parked run takes up to 170 MB.
	leastFree = 512 << 20
	// Calm is how long nothing has to happen in a room before a run is parked there, unless somebody is about to write.
	Calm = 1500 * time.Millisecond
)

// SignOfLife parks a run for the room's next task, in the background: the agent is started now and gets its prompt when
// there is one. Call it after a task. It is cheap if the agent is there already. It does nothing if a task comes within
// the time that it waits first, or if the room has no container: that of an upgraded room may be about to move here.
func (s *Sandbox) SignOfLife(ctx context.Context, wait time.Duration) { s.expect(ctx, wait, false) }

// Welcome is SignOfLife in a new room that replaces no other. It creates the room's container.
func (s *Sandbox) Welcome(ctx context.Context) { s.expect(ctx, Calm, true) }

func (s *Sandbox) expect(ctx context.Context, wait time.Duration, create bool) {
	if !create && s.shared.Store.Containers.Of(s.room) == "" {
		return
	}
	_, like := s.nextTask()
	own := s.shared.Warm.begin(s.room, like)
	if own == nil {
		return
	}
	started := s.shared.Group.Start(func() {
		looks := true
		defer func() {
			if looks { // also after a panic
				s.shared.Warm.leave(s.room, own)
			}
		}()
		_ = retry.Sleep(ctx, wait)
		done, err := s.shared.Warm.take(ctx)
		if err != nil {
			return
		}
		defer done()
		if looks, err = s.renew(ctx, own, create); err != nil && ctx.Err() == nil {
			s.shared.Log.Debug().Err(err).Str("room", s.room).Msg("cannot start the agent for the next task")
		}
	})
	if !started {
		s.shared.Warm.leave(s.room, own)
	}
}

// renew parks a run, or lets the one that waits already wait longer, and returns when it has initialized. It returns
// true if something was in the way.
func (s *Sandbox) renew(ctx context.Context, own *parked, create bool) (busy bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, parkTime)
	defer cancel()
	job, like := s.nextTask() // it may have changed meanwhile
	session := ""
	if !job.Resume {
		job.Session = cmp.Or(s.shared.Warm.SessionOf(s.room), uuid.NewString())
		session = job.Session
	}
	is, err := s.park(ctx, own, job, create)
	if errors.Is(err, errBusy) {
		return true, nil
	}
	is.like, is.session = like, session
	s.shared.Warm.end(s.room, own, is)
	if err == nil {
		_ = retry.Sleep(ctx, initializing)
	}
	return false, err
}

// nextTask is what is known about the room's next task, and the same as text. Session is "" if it begins a new one.
func (s *Sandbox) nextTask() (job agent.Task, like string) {
	rules, session := s.Rules(), s.shared.Store.Conversations.Session(s.room)
	model, _ := s.shared.Models.Now(rules.Model)
	job = agent.Task{
		Session: session, Resume: session != "", Model: model.Name, Zone: rules.Zone, Approvals: rules.Approvals,
	}
	job.Files = Files("")
	for i := range job.Files {
		job.Files[i].New = true
	}
	return job, fmt.Sprintf("%s %s %s %s", session, model.Name, rules.Zone, strings.Join(rules.Approvals, "\n"))
}

// errBusy: nothing has to be started for the next task, because it is there, or because the host has better things to
// do.
var errBusy = errors.New("the room or the host is busy")

// park starts a run that waits for the task, and returns how to discard it, and until when it waits. If there was no
// answer in time, it may wait, too.
func (s *Sandbox) park(ctx context.Context, own *parked, job agent.Task, create bool) (is parked, err error) {
	s.vacancy.mu.Lock()
	defer s.vacancy.mu.Unlock()
	container, err := s.nextContainer(ctx, create)
	if err != nil {
		return is, err
	}
	if job.Model == "" || container.Outdated || capacity.Free() < leastFree {
		return is, errBusy // the next task chooses the model, replaces the container, or needs the memory
	}
	if !s.shared.Warm.clear(ctx, s.room, own, s.shared.Log) {
		return is, errBusy
	}
	crash.At("parking")
	job.Run, job.Needed = "parked-"+uuid.NewString(), s.Sessions(ctx)
	until, err := s.shared.Parker.Park(ctx, container, job, s.shared.Warm.time)
	if err != nil && ctx.Err() == nil {
		return is, err
	}
	crash.At("parked")
	limit := time.Now().Add(s.shared.Warm.time)
	if until.IsZero() || until.After(limit) { // an older boxinit, or something that pretends to be one
		until = limit
	}
	unpark := func(ctx context.Context) error {
		_, err := container.ParkRun(ctx, sandbox.Parking{})
		return err
	}
	return parked{discard: unpark, until: until}, err
}

// nextContainer starts the room's container if no task is about to. The caller holds vacancy.mu.
func (s *Sandbox) nextContainer(ctx context.Context, create bool) (*sandbox.Container, error) {
	switch _, err := s.shared.Journal.Tasks.Next(ctx, s.room); {
	case err == nil:
		return nil, errBusy
	case !errors.Is(err, state.ErrNotFound):
		return nil, err
	}
	if s.vacancy.left || !create && s.shared.Store.Containers.Of(s.room) == "" {
		return nil, errBusy // the bot has left the room, or moved to its successor
	}
	if s.shared.Keeper.Low(ctx) {
		return nil, errBusy
	}
	return s.Ensure(ctx, false, nil)
}

// clear reports whether a room's run may be parked, and discards those that have to give way for it. One that cannot be
// discarded ends when its time is up.
func (w *Warm) clear(ctx context.Context, room string, own *parked, log zerolog.Logger) bool {
	for {
		gives, ok := w.makeRoom(room, own)
		if gives == nil {
			return ok
		}
		if err := gives.discard(ctx); err != nil {
			log.Debug().Err(err).Msg("cannot end a parked run")
		}
	}
}

// Offered takes a connection that a room's container has offered, and notes the run that is parked there, if an earlier
// process of the bot has parked it.
func (d *Shared) Offered(room string, conn net.Conn, said string) {
	until := d.Podman.Offer(room, conn, said)
	d.Warm.adopt(room, until, func(ctx context.Context) error { return d.Podman.Unpark(ctx, room) })
}
