package boxinit

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// stopGrace is the time between SIGTERM and SIGKILL.
	stopGrace = 2 * time.Second
	// stopLimit bounds what follows, and the wait for the record of the end.
	stopLimit = 20 * time.Second
	stopPoll  = 10 * time.Millisecond
)

// stop ends everything the run started, and returns when all of it is gone and the end is
// recorded.
func stop(s store, id string) error {
	var sup supervisorRecord
	if err := readJSON(s.file(id, "supervisor.json"), &sup); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil // it never started
		}
		return fmt.Errorf("stop run %s: %w", id, err)
	}
	asked := make(map[process]bool)
	begun := time.Now()
	for time.Since(begun) < stopGrace {
		all, err := processes()
		if err != nil {
			return err
		}
		list := belonging(all, sup, sup.Mark, markOf)
		if len(list) == 0 {
			return s.settled(id, begun)
		}
		for _, p := range list {
			if !asked[p] {
				asked[p] = true
				unix.Kill(p.pid, unix.SIGTERM)
				unix.Kill(p.pid, unix.SIGCONT)
			}
		}
		time.Sleep(stopPoll)
	}
	if !sup.kill(sup.Mark, false) {
		return fmt.Errorf("stop run %s: processes are still running after %s", id, stopLimit)
	}
	return s.settled(id, begun)
}

// kill kills what a supervisor has started, and with self the supervisor, and reports whether nothing is left.
func (r supervisorRecord) kill(mark string, self bool) bool {
	for begun := time.Now(); time.Since(begun) < stopLimit; time.Sleep(handPoll) {
		// Stop all of them with SIGSTOP first: otherwise a tree that forks faster than it is read would escape.
		held := make(map[int]bool)
		for grown := true; grown; {
			all, err := processes()
			if err != nil {
				return false
			}
			grown = false
			list := belonging(all, r, mark, markOf)
			for _, p := range all {
				if self && p.pid == r.PID && p.ticks == r.Ticks && !p.dead {
					list = append(list, p)
				}
			}
			for _, p := range list {
				if !held[p.pid] {
					held[p.pid], grown = true, true
					_ = unix.Kill(p.pid, unix.SIGSTOP)
				}
			}
		}
		if len(held) == 0 {
			return true
		}
		for pid := range held {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	return false
}

// settled waits until the supervisor has recorded the end of a run whose stop has begun at that time.
func (s store) settled(id string, begun time.Time) error {
	for {
		status, err := s.status(id)
		if err != nil || status.State != RunRunning {
			return err
		}
		if time.Since(begun) > stopLimit {
			return fmt.Errorf("stop run %s: its end was not recorded within %s", id, stopLimit)
		}
		time.Sleep(stopPoll)
	}
}
