package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"matrix-tui/bot/bottest/person"
	"matrix-tui/bot/capacity"
)

const many = 20 // rooms, and messages

// measureRooms sends one message in each of many rooms at once, while agents wait in some of them: in as many as the
// bot chooses on this host, and in four.
func measureRooms(ctx context.Context, b *bench) error {
	sizes := []int{capacity.WarmAgents(), 4}
	if sizes[0] == 0 {
		return errors.New("this host has too little memory for agents that wait")
	}
	for _, agents := range slices.Compact(sizes) {
		if err := measureRoomsWith(ctx, b, agents); err != nil {
			return err
		}
	}
	return nil
}

func measureRoomsWith(ctx context.Context, b *bench, agents int) (err error) {
	s, err := b.open(ctx, fmt.Sprint("rooms-", agents))
	if err != nil {
		return err
	}
	defer s.close(&err)
	s.Set(map[string]string{"WARM_AGENTS": fmt.Sprint(agents)})
	if _, err := s.start(ctx); err != nil {
		return err
	}
	rooms := make([]string, many)
	for i := range rooms {
		if rooms[i], err = s.room(ctx); err != nil {
			return err
		}
	}
	var walls []float64
	for round := range b.rounds {
		if err := s.settle(ctx); err != nil {
			return err
		}
		if err := s.parkedIn(ctx, agents, rooms...); err != nil {
			return err
		}
		begun := time.Now()
		group, ctx := errgroup.WithContext(ctx)
		for i, room := range rooms {
			group.Go(func() error {
				number := 1000*(round+1) + i
				_, err := s.ask(ctx, room, fmt.Sprint("number ", number), fmt.Sprint("got ", number))
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		walls = append(walls, time.Since(begun).Seconds())
		b.say("%d rooms at once, agents wait in %d: %.1f s", many, agents, walls[round])
	}
	b.table.add(fmt.Sprintf("20 rooms at once, agents wait in %d, one message each → all answered", agents), "s", 10,
		walls...)
	return nil
}

// measureBurst sends many messages in one room as fast as the server accepts them.
func measureBurst(ctx context.Context, b *bench) (err error) {
	s, room, err := b.openRoom(ctx, "burst")
	if err != nil {
		return err
	}
	defer s.close(&err)
	if _, err := s.ask(ctx, room, "number 1", "got 1"); err != nil {
		return err
	}
	var walls, missing []float64
	for round := range b.rounds {
		if err := s.settle(ctx); err != nil {
			return err
		}
		wall, right, err := s.burst(ctx, room, 1000*(round+1))
		if err != nil {
			return err
		}
		b.say("%d messages at once: %.1f s, %d answers in order", many, wall.Seconds(), right)
		walls, missing = append(walls, wall.Seconds()), append(missing, float64(right))
	}
	b.table.add("20 messages at once in one room → all answered", "s", 0, walls...)
	b.table.add("  of them answered once, in order (20 is all)", "", 0, missing...)
	return nil
}

// burst sends many messages and waits for the answers. It returns the total time and how many of the bot's answers are
// the right one in their place.
func (s *scene) burst(ctx context.Context, room string, from int) (time.Duration, int, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	seen := len(s.finals(room))
	begun := time.Now()
	var last string
	for i := range many {
		event, err := s.alice.Say(ctx, room, fmt.Sprint("number ", from+i))
		if err != nil {
			return 0, 0, err
		}
		last = event
	}
	if _, err := s.final(ctx, room, last); err != nil {
		return 0, 0, err
	}
	wall := time.Since(begun)
	if err := s.settle(ctx); err != nil { // answers that come twice, or late
		return 0, 0, err
	}
	right := 0
	for i, m := range s.finals(room)[seen:] {
		if says(m, fmt.Sprint("got ", from+i)) {
			right++
		}
	}
	return wall, right, nil
}

// finals are the bot's answers in the room, in order.
func (s *scene) finals(room string) []person.Msg {
	var finals []person.Msg
	for _, m := range s.alice.Messages(room) {
		if m.Sender == s.ID() && m.Final() {
			finals = append(finals, m)
		}
	}
	return finals
}
