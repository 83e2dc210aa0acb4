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

// lockTime is how long the state may still be held by a release that was killed.
const lockTime = 10 * time.Second

// Watch waits until the new release is ready, and brings the old one back when
// it is not in time. It returns the program to be run in the place of the
// watcher, "" for none: where supervised, somebody else starts what `current`
// leads to. It is a process of the old release, not of the new one.
func (b Base) Watch(ctx context.Context, supervised bool) (program string, err error) {
	lock, err := os.OpenFile(b.path("watch.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("open watch lock: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return "", nil // somebody watches already
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := b.Read()
		if err != nil || r.Phase != Switched {
			return "", err
		}
		gone := !b.runs(r)
		switch {
		case time.Since(r.Switched) > readyTime:
			return b.bringBack(r, supervised, fmt.Sprintf("It was not ready within %d seconds.", int(readyTime.Seconds())))
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

// isWatched tells whether a watcher is at work.
func (b Base) isWatched() bool {
	lock, err := os.OpenFile(b.path("watch.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false
	}
	defer lock.Close()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// runs tells whether the new release's process is there: right after the switch
// it is still the old one.
func (b Base) runs(r Record) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", r.PID))
	if err != nil {
		return lives(r.PID)
	}
	exe = strings.TrimSuffix(exe, " (deleted)")
	return exe == b.Program(r.To) || exe == b.Program(r.From)
}

// lives tells whether a process has not ended. One that executes another program
// from a thread that is not its first has no program for a moment: the first
// thread is gone then, and the process is not.
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

// bringBack rolls back. The link is switched before the new release is killed,
// because who starts programs here may end this one with it, and then starts
// what the link leads to.
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

// kill ends the new release, and nothing else that may have its process ID now.
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

// lockState holds the state folder, as the bot does, so that none starts
// meanwhile.
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

// readable turns the bot's log lines, which are JSON, into words.
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
