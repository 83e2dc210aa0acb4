package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

// measureIdle measures the memory of idle bots with 1, 50 and many rooms, and then the start of the last one with many
// containers.
func measureIdle(ctx context.Context, b *bench) (err error) {
	sizes := []int{1, 50, b.rooms}
	goals := []float64{40, 40, 60}
	scenes := make([]*scene, len(sizes))
	var all []string // rooms of the largest
	for i, size := range sizes {
		s, err := b.open(ctx, fmt.Sprintf("idle-%d", i+1))
		if err != nil {
			return err
		}
		defer s.close(&err)
		scenes[i] = s
		if all, err = s.joined(ctx, b, size); err != nil {
			return err
		}
		b.say("%s made", rooms(size))
		if err := s.seed(all, nil); err != nil {
			return err
		}
		// The first start adds the rooms to the journal.
		if _, err := s.start(ctx); err != nil {
			return err
		}
		if err := errors.Join(s.settle(ctx), s.Stop(ctx)); err != nil {
			return err
		}
	}
	memory, ready := make([][]float64, len(sizes)), make([][]float64, len(sizes))
	for range b.n {
		if err := startEach(ctx, scenes, ready); err != nil {
			return err
		}
		group, ctx := errgroup.WithContext(ctx)
		for i, s := range scenes {
			group.Go(func() error {
				mb, err := s.rested(ctx)
				memory[i] = append(memory[i], mb)
				return errors.Join(err, s.Stop(ctx))
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	for i, size := range sizes {
		b.table.add("resident memory, idle, "+rooms(size)+" known", "MB", goals[i], memory[i]...)
	}
	b.table.add("start → ready, 1 room, no container", "ms", 200, ready[0]...)
	b.table.add("start → ready, "+rooms(b.rooms)+" known, no container", "ms", 0, ready[2]...)
	return measureStart(ctx, b, scenes[2], all)
}

func rooms(n int) string {
	if n == 1 {
		return "1 room"
	}
	return fmt.Sprint(n, " rooms")
}

// rested returns the resident memory of the bot in MB (10⁶ bytes) once it has stayed within half an MB for three
// seconds, or after twenty.
func (s *scene) rested(ctx context.Context) (float64, error) {
	const step = 250 * time.Millisecond
	low, high, still := 0.0, 0.0, time.Duration(0)
	for waited := time.Duration(0); ; waited += step {
		now, err := resident(s.PID())
		if err != nil {
			return 0, err
		}
		if low, high = min(low, now), max(high, now); high-low > 0.5 {
			low, high, still = now, now, 0
		}
		if still >= 3*time.Second || waited >= 20*time.Second {
			return now, nil
		}
		if err := pause(ctx, step); err != nil {
			return 0, err
		}
		still += step
	}
}

// resident returns the current memory of a process, in MB.
func resident(pid int) (float64, error) { return memory(pid, "VmRSS") }

// memory returns a line of /proc/PID/status that counts kB, in MB.
func memory(pid int, line string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read memory of the bot: %w", err)
	}
	for text := range bytes.Lines(status) {
		var kb float64
		if _, err := fmt.Sscanf(string(text), line+": %f kB", &kb); err == nil {
			return kb * 1024 / 1e6, nil
		}
	}
	return 0, fmt.Errorf("no %s in the status of the bot", line)
}
