package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockTime is how long a killed release may still hold the state's lock.
const lockTime = 10 * time.Second

// watchTries and watchPause say how long a watcher tries to become the only one: isWatched holds the lock for a moment.
const watchTries, watchPause = 20, 20 * time.Millisecond

// Watch waits until the new release is ready, and restores the old one if that takes too long. It returns the program
// to execute instead of the watcher, "" for none: under a supervisor, that starts what `current` points to. The watcher
// is a process of the old release.
func (b Base) Watch(ctx context.Context, supervised bool) (program string, err error) {
	lock, err := os.OpenFile(b.path("watch.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("open watch lock: %w", err)
	}
	defer lock.Close()
	for tries := 0; syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil; tries++ {
		if tries == watchTries {
			return "", nil // another watcher is active
		}
		time.Sleep(watchPause)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := b.Read()
		if err != nil || r.Phase != Switched {
			return "", err
		}
		gone := !b.runs(r)
		switch late := b.late(r, time.Now()); {
		case late != "":
			return b.bringBack(r, supervised, late)
		case gone && !supervised:
			return b.bringBack(r, supervised, "It ended before it was ready.")
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-tick.C:
		}
	}
}

// isWatched reports whether a watcher is active.
func (b Base) isWatched() bool {
	lock, err := os.OpenFile(b.path("watch.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false
	}
	defer lock.Close()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// runs reports whether the new release's process exists: right after the switch it is still the old one.
func (b Base) runs(r Record) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", r.PID))
	if err != nil {
		return lives(r.PID)
	}
	exe = strings.TrimSuffix(exe, " (deleted)")
	return exe == b.Program(r.To) || exe == b.Program(r.From)
}

// lives reports whether a process has not ended. While a thread other than the first executes another program, the
// process has no program for a moment: only its first thread is gone.
func lives(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 0
		}
	}
}

// bringBack rolls back. It switches the link before it kills the new release, because the supervisor may then end this
// process too, and starts what the link points to.
func (b Base) bringBack(r Record, supervised bool, why string) (string, error) {
	r.fail(Failing, why, b.lastWords(), true)
	if err := b.Write(r); err != nil {
		return "", err
	}
	crash("failing")
	if err := b.link("current", r.From); err != nil {
		return "", err
	}
	if err := b.kill(r); err != nil {
		return "", err
	}
	if _, err := b.finishRollback(r, r.From); err != nil {
		return "", err
	}
	if supervised {
		return "", nil
	}
	return b.Program(r.From), nil
}

// kill kills the new release, but no other process that may have its process ID now.
func (b Base) kill(r Record) error {
	fd, err := unix.PidfdOpen(r.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find release %s: %w", r.To, err)
	}
	defer unix.Close(fd)
	if !b.runs(r) {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("end release %s: %w", r.To, err)
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(poll, int(lockTime.Milliseconds())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// lockState locks the state folder, as the bot does, so that none starts meanwhile.
func lockState(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for until := time.Now().Add(lockTime); ; time.Sleep(50 * time.Millisecond) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(until) {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
	}
}

// readable turns the bot's log lines, which are JSON, into text.
func readable(log string) string {
	var out strings.Builder
	for line := range strings.Lines(log) {
		var said struct {
			Level   string `json:"level"`
			Message string `json:"message"`
			Error   string `json:"error"`
		}
		if json.Unmarshal([]byte(line), &said) == nil && said.Message != "" {
			line = said.Level + ": " + said.Message
			if said.Error != "" {
				line += ": " + said.Error
			}
			line += "\n"
		}
		out.WriteString(line)
	}
	return out.String()
}
