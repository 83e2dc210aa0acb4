package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"matrix-tui/bot/capacity"
	"matrix-tui/sandbox"
)

// measureParked measures what the agents cost that wait in rooms, as many as the bot chooses on this host: their
// processor time and memory.
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
	var containers, all []string
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
	pids, err := s.ParkedPIDs(ctx, containers...)
	if err != nil {
		return err
	}
	if len(pids) != agents {
		return fmt.Errorf("%d agents wait, want %d", len(pids), agents)
	}
	var busy, each []float64
	for range b.rounds {
		share, err := shareOf(ctx, pids)
		if err != nil {
			return err
		}
		busy = append(busy, share)
	}
	for _, pid := range pids {
		mb, err := proportional(pid)
		if err != nil {
			return err
		}
		each = append(each, mb)
	}
	b.table.add(fmt.Sprintf("processor time of %d agents that wait, in %% of one core", agents), "%", 0.5, busy...)
	b.table.add("memory of each, with its share of what they have in common", "MB", 0, each...)
	return nil
}

// shareOf returns the processor time that processes use during the window, in % of one core.
func shareOf(ctx context.Context, pids []int) (float64, error) {
	sum := func() (all time.Duration, err error) {
		for _, pid := range pids {
			used, wrong := processorTime(pid)
			all, err = all+used, errors.Join(err, wrong)
		}
		return all, err
	}
	before, err := sum()
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := pause(ctx, window); err != nil {
		return 0, err
	}
	after, err := sum()
	return 100 * float64(after-before) / float64(time.Since(begun)), err
}

// proportional returns the memory of a process in MB, with its share of pages that other processes use as well.
func proportional(pid int) (float64, error) {
	file := fmt.Sprintf("/proc/%d/smaps_rollup", pid)
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for text := range bytes.Lines(data) {
		var kb float64
		if _, err := fmt.Sscanf(string(text), "Pss: %f kB", &kb); err == nil {
			return kb * 1024 / 1e6, nil
		}
	}
	return 0, fmt.Errorf("no Pss in %s", file)
}
