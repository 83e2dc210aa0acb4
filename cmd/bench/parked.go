package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/capacity"
	"matrix-tui/sandbox"
)

// measureParked measures the processor time of the containers in which an agent waits, as many as the bot chooses on
// this host: of the agents, and of what looks after them.
func measureParked(ctx context.Context, b *bench) (err error) {
	agents := capacity.WarmAgents()
	if agents == 0 {
		return errors.New("this host has too little memory for agents that wait")
	}
	s, err := b.open(ctx, "parked")
	if err != nil {
		return err
	}
	defer s.close(&err)
	if _, err := s.start(ctx); err != nil {
		return err
	}
	var all, containers []string
	for range agents {
		room, err := s.room(ctx)
		if err != nil {
			return err
		}
		all, containers = append(all, room), append(containers, sandbox.NameFor(room))
	}
	if err := s.parkedIn(ctx, agents, all...); err != nil {
		return err
	}
	if err := pause(ctx, settling); err != nil {
		return err
	}
	var busy []float64
	for range b.rounds {
		before, err := s.ProcessorTime(ctx, containers...)
		if err != nil {
			return err
		}
		begun := time.Now()
		if err := pause(ctx, window); err != nil {
			return err
		}
		after, err := s.ProcessorTime(ctx, containers...)
		if err != nil {
			return err
		}
		busy = append(busy, 100*float64(after-before)/float64(time.Since(begun)))
	}
	if err := s.parkedIn(ctx, agents, all...); err != nil { // they still wait
		return err
	}
	b.table.add(fmt.Sprintf("processor time of %d containers where agents wait, in %% of one core", agents), "%", 0.5,
		busy...)
	return nil
}

// settling is how long Gemini CLI goes on with a little work of its own after its start.
const settling = time.Minute
