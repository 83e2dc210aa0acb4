package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

// mostRooms is how many sandboxes run at last.
const mostRooms = 100

// measureEngine measures what depends on the engine of the rooms' sandboxes, with default settings: podman, or the
// cluster that MATRIX_TUI_KUBE names. Nothing in it needs podman.
func measureEngine(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, "engine")
	if err != nil {
		return err
	}
	defer s.close(&err)
	if _, err := s.start(ctx); err != nil {
		return err
	}
	var atOnce, typed []float64
	for i := range b.n {
		number := fmt.Sprint(1100 + i)
		first, err := s.first(ctx, number, 0)
		if err != nil {
			return err
		}
		second, err := s.first(ctx, number, typing)
		if err != nil {
			return err
		}
		atOnce, typed = append(atOnce, ms(first)), append(typed, ms(second))
	}
	b.table.add("first message of a new room, sent at once → reply", "ms", 0, atOnce...)
	b.table.add("the same, sent 3 s after the bot's greeting → reply", "ms", 0, typed...)

	rooms, walls, err := s.rooms(ctx, b.rounds)
	if err != nil {
		return err
	}
	b.table.add("20 rooms at once, one message each → all answered", "s", 0, walls...)

	if _, err := s.ask(ctx, rooms[0], "number 9000", "got 9000"); err != nil { // an agent waits there afterwards
		return err
	}
	var warm []float64
	for i := range b.n {
		number := fmt.Sprint(9100 + i)
		if err := s.settle(ctx); err != nil {
			return err
		}
		if err := s.parked(ctx, rooms[0]); err != nil {
			return err
		}
		took, err := s.ask(ctx, rooms[0], "number "+number, "got "+number)
		if err != nil {
			return err
		}
		warm = append(warm, ms(took))
	}
	b.table.add("message → reply where an agent waits", "ms", 0, warm...)
	for running := many; ; running += many {
		if running == many || running == mostRooms {
			if err := s.restarts(ctx, b, rooms[0], running); err != nil {
				return err
			}
		}
		if running == mostRooms {
			break
		}
		if _, _, err := s.rooms(ctx, 1); err != nil {
			return err
		}
	}
	if cluster := os.Getenv("MATRIX_TUI_KUBE"); cluster != "" {
		return measureSuspended(ctx, b, cluster)
	}
	return nil
}

// restarts restarts the bot while some rooms' sandboxes run.
func (s *scene) restarts(ctx context.Context, b *bench, room string, running int) error {
	var back, after []float64
	for i := range b.rounds {
		number := fmt.Sprint(10*running + 9000 + i)
		if err := s.settle(ctx); err != nil {
			return err
		}
		if err := s.Stop(ctx); err != nil {
			return err
		}
		ready, err := s.start(ctx)
		if err != nil {
			return err
		}
		took, err := s.ask(ctx, room, "number "+number, "got "+number)
		if err != nil {
			return err
		}
		back, after = append(back, ms(ready)), append(after, ms(took))
	}
	b.table.add(fmt.Sprintf("restart with %d running sandboxes → ready", running), "ms", 0, back...)
	b.table.add("  then a message sent at once → reply", "ms", 0, after...)
	return nil
}

// rooms creates many rooms, and sends one message in each at once, in rounds.
func (s *scene) rooms(ctx context.Context, rounds int) (rooms []string, walls []float64, err error) {
	for range many {
		room, err := s.room(ctx)
		if err != nil {
			return nil, nil, err
		}
		rooms = append(rooms, room)
	}
	for round := range rounds {
		if err := s.settle(ctx); err != nil {
			return nil, nil, err
		}
		begun := time.Now()
		group, ctx := errgroup.WithContext(ctx)
		for i, room := range rooms {
			group.Go(func() error {
				number := 2000*(round+1) + i
				_, err := s.ask(ctx, room, fmt.Sprint("number ", number), fmt.Sprint("got ", number))
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, nil, err
		}
		walls = append(walls, time.Since(begun).Seconds())
	}
	return rooms, walls, nil
}
