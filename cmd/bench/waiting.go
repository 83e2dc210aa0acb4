package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

const (
	window = 30 * time.Second // during which the processor time of an idle bot is counted
	token  = "bench"          // of the HTTP API
)

// measureWaiting measures the cost of waiting executions: two bots in the same rooms, one with a question in each of
// them, side by side.
func measureWaiting(ctx context.Context, b *bench) (err error) {
	var pair [2]*scene
	for i, name := range []string{"waiting-none", "waiting"} {
		s, err := b.open(ctx, name)
		if err != nil {
			return err
		}
		defer s.close(&err)
		s.Set(map[string]string{"API_LISTEN": "0", "API_TOKEN": token,
			"EXECUTION_TIMEOUT_MINUTES": strconv.Itoa(int(answerTime.Minutes()))})
		pair[i] = s
	}
	all, err := pair[0].joined(ctx, b, b.rooms, pair[1])
	if err != nil {
		return err
	}
	b.say("%s created", rooms(b.rooms))
	for _, s := range pair {
		if err := s.seed(all, nil); err != nil {
			return err
		}
		if _, err := s.start(ctx); err != nil { // adds the rooms to the journal
			return err
		}
	}
	for _, s := range []*scene{pair[0], pair[1], pair[0]} { // each receives the other's messages
		if err := s.settle(ctx); err != nil {
			return err
		}
	}
	if err := errors.Join(pair[0].Stop(ctx), pair[1].Stop(ctx)); err != nil {
		return err
	}
	if err := pair[1].fillWaiting(ctx, all); err != nil {
		return err
	}
	var memory, busy, ready [2][]float64
	var moreMemory, moreBusy []float64
	for range b.rounds {
		if err := startEach(ctx, pair[:], ready[:]); err != nil {
			return err
		}
		group, at := errgroup.WithContext(ctx)
		for i, s := range pair {
			group.Go(func() error {
				mb, share, err := s.idle(at)
				memory[i], busy[i] = append(memory[i], mb), append(busy[i], share)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		for i, s := range pair {
			if count, err := s.waiting(ctx); err != nil || count != i*len(all) {
				return errors.Join(err, fmt.Errorf("the bot says that %d tasks are waiting, want %d", count, i*len(all)))
			}
			if err := s.Stop(ctx); err != nil {
				return err
			}
		}
		last := len(memory[0]) - 1
		moreMemory, moreBusy = append(moreMemory, memory[1][last]-memory[0][last]),
			append(moreBusy, busy[1][last]-busy[0][last])
	}
	b.table.add("resident memory, idle, "+rooms(b.rooms)+" known, nothing waiting", "MB", 0, memory[0]...)
	b.table.add("the same with a waiting execution in each", "MB", 0, memory[1]...)
	b.table.add(fmt.Sprintf("  what %d waiting executions cost (pair by pair)", len(all)), "MB", 10, moreMemory...)
	b.table.add("processor time in 30 s, idle, nothing waiting", "%", 0, busy[0]...)
	b.table.add("the same with the waiting executions", "%", 0, busy[1]...)
	b.table.add("  what they cost (pair by pair), in % of one core", "%", 0.1, moreBusy...)
	b.table.add("start → ready, nothing waiting", "ms", 0, ready[0]...)
	b.table.add("the same with the waiting executions", "ms", 0, ready[1]...)
	return nil
}

// idle returns the resident memory of the idle bot, in MB, and its processor time from then on, in % of one core.
func (s *scene) idle(ctx context.Context) (mb, share float64, err error) {
	if mb, err = s.rested(ctx); err != nil {
		return 0, 0, err
	}
	before, err := processorTime(s.PID())
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	if err := pause(ctx, window); err != nil {
		return 0, 0, err
	}
	after, err := processorTime(s.PID())
	return mb, 100 * float64(after-before) / float64(time.Since(begun)), err
}

// processorTime returns the user and system time of all threads of a process so far. The ID of the clock is made as in
// clock_getcpuclockid(3): /proc/PID/stat has the same number, but in steps of 10 ms.
func processorTime(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &used); err != nil {
		return 0, fmt.Errorf("read processor time of the bot: %w", err)
	}
	return time.Duration(used.Nano()), nil
}

var (
	listening    = regexp.MustCompile(`"address":"([^"]+)".*"message":"listening"`)
	tasksWaiting = regexp.MustCompile(`(?m)^matrix_tui_tasks_waiting (\d+)$`)
)

// waiting asks the bot how many tasks are waiting.
func (s *scene) waiting(ctx context.Context) (int, error) {
	at := listening.FindStringSubmatch(s.Log())
	if at == nil {
		return 0, errors.New("the bot's log does not say where it listens")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at[1]+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	found := tasksWaiting.FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("the bot's metrics (%s) do not say how many tasks are waiting", resp.Status)
	}
	return strconv.Atoi(string(found[1]))
}
