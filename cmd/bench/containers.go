package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
)

// measureStart gives a bot's rooms running containers and starts the bot. Between two starts it is killed, as an update
// or a power cut would.
func measureStart(ctx context.Context, b *bench, s *scene, rooms []string) (err error) {
	podman, err := sandbox.Connect(ctx, "unix://"+s.Socket(), zerolog.Nop())
	if err != nil {
		return err
	}
	defer podman.Close()
	doors := gateway.New(gateway.Config{Dir: filepath.Join(s.StateDir(), "gateway"), Log: zerolog.Nop()})
	defer func() { err = errors.Join(err, doors.Close(ctx)) }()
	podman.Place = sandbox.Place{Doors: doors, Inits: filepath.Join(s.StateDir(), "boxinit"), Version: "bench"}
	m := maker{rooms: sandbox.NewRooms(podman, zerolog.Nop()), doors: doors, image: b.host.Image(),
		containers: map[string]string{}}

	var made []float64
	for _, count := range []int{10, b.containers} {
		begun := time.Now()
		more := rooms[len(m.containers):min(count, len(rooms))]
		if made == nil { // one after the other, for the measurement
			for _, room := range more[:min(b.n, len(more))] {
				took, err := m.make(ctx, s.Own(room), room)
				if err != nil {
					return err
				}
				made = append(made, ms(took))
			}
			b.table.add("a room's container created and started, on new volumes", "ms", 500, made...)
			more = more[len(made):]
		}
		if err := m.all(ctx, s, more); err != nil {
			return err
		}
		b.say("%d containers are running, the last %d created in %.0f s", len(m.containers), len(more),
			time.Since(begun).Seconds())
		if err := s.seed(rooms, m.containers); err != nil {
			return err
		}
		if err := measureReady(ctx, b, s, len(m.containers)); err != nil {
			return err
		}
	}
	return nil
}

// measureReady starts the bot again and again.
func measureReady(ctx context.Context, b *bench, s *scene, containers int) error {
	var ready []float64
	for range b.n {
		took, err := s.start(ctx)
		if err != nil {
			return err
		}
		ready = append(ready, ms(took))
		if err := s.Kill(ctx); err != nil {
			return err
		}
	}
	b.table.add(fmt.Sprintf("start → ready, %d containers running, %d rooms known", containers, b.rooms), "ms", 1000,
		ready...)

	// Once more, while counting the requests to podman.
	relay, err := newRelay(filepath.Join(s.Dir(), "relay.sock"), s.Socket())
	if err != nil {
		return err
	}
	defer relay.close()
	s.Set(map[string]string{"CONTAINER_HOST": "unix://" + relay.path})
	defer s.Set(map[string]string{"CONTAINER_HOST": "unix://" + s.Socket()})
	if _, err := s.start(ctx); err != nil {
		return err
	}
	lists, all := relay.count()
	mb, err := s.rested(ctx)
	if err := errors.Join(err, s.Stop(ctx)); err != nil {
		return err
	}
	b.table.add("  list calls to podman until ready", "", 1, float64(lists))
	b.table.add("  all calls to podman until ready", "", 0, float64(all))
	b.table.add(fmt.Sprintf("  resident memory with %d containers, %d rooms known", containers, b.rooms), "MB", 0, mb)
	return nil
}

// maker creates the rooms' containers as the bot does.
type maker struct {
	rooms      *sandbox.Rooms
	doors      *gateway.Gateway
	image      string
	containers map[string]string // by room
}

// make creates one and returns how long podman took.
func (m *maker) make(ctx context.Context, name, room string) (time.Duration, error) {
	if _, err := m.doors.Open(room); err != nil {
		return 0, err
	}
	begun := time.Now()
	container, err := m.rooms.Ensure(ctx, sandbox.Spec{
		Room: room, Name: name, Image: m.image, Memory: 2 << 30, CPUs: 2, PIDs: 1024, Runtime: os.Getenv("SANDBOX_RUNTIME"),
	})
	took := time.Since(begun)
	err = errors.Join(err, m.doors.Shut(room)) // the bot will open it
	if err != nil {
		return 0, err
	}
	if !container.Created || !container.Started {
		return 0, fmt.Errorf("container %s already existed", name)
	}
	m.containers[room] = name
	return took, nil
}

// all creates several, a few at a time.
func (m *maker) all(ctx context.Context, s *scene, rooms []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	done := make(chan [2]string, len(rooms))
	for _, room := range rooms {
		name := s.Own(room)
		group.Go(func() error {
			one := maker{rooms: m.rooms, doors: m.doors, image: m.image, containers: map[string]string{}}
			_, err := one.make(ctx, name, room)
			if err == nil {
				done <- [2]string{room, name}
			}
			return err
		})
	}
	err := group.Wait()
	close(done)
	for pair := range done {
		m.containers[pair[0]] = pair[1]
	}
	return err
}
