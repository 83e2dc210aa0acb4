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
	// stopLimit bounds a whole stop.
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
	ours := func() ([]process, error) {
		all, err := processes()
		return belonging(all, sup, sup.Mark, markOf), err
	}
	begun := time.Now()
	for time.Since(begun) < stopGrace {
		list, err := ours()
		if err != nil {
			return err
		}
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
	for time.Since(begun) < stopLimit {
		// Stop all of them with SIGSTOP first: otherwise a tree that forks faster than it is read would escape.
		held := make(map[process]bool)
		for grown := true; grown; {
			grown = false
			list, err := ours()
			if err != nil {
				return err
			}
			for _, p := range list {
				if !held[p] {
					held[p], grown = true, true
					unix.Kill(p.pid, unix.SIGSTOP)
				}
			}
		}
		if len(held) == 0 {
			return s.settled(id, begun)
		}
		for p := range held {
			unix.Kill(p.pid, unix.SIGKILL)
		}
		time.Sleep(stopPoll)
	}
	return fmt.Errorf("stop run %s: processes are still running after %s", id, stopLimit)
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
