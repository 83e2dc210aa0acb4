package release

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"matrix-tui/state"
)

// maxStarts is how often a new release is started before the rollback.
const maxStarts = 2

// Start is what a starting process must do about an update.
type Start struct {
	// Exec is the program to execute instead of this one; "" = continue.
	Exec string
	// Watched says that this is a new release that is not ready yet.
	Watched bool
	// Unwatched says that no watcher checks whether it becomes ready in time.
	Unwatched bool
}

// AtStart checks, before anything else, how far a pending update is; running is the commit of this program. It
// completes what was interrupted: before the switch, the update is dropped; a release that was started too often
// without becoming ready is rolled back.
func (b Base) AtStart(running, invocation string) (Start, error) {
	r, err := b.Read()
	if err != nil {
		return Start{}, err
	}
	switch r.Phase {
	case Asked, Prepared:
		r.fail(Failed, "It was interrupted: I went down while preparing it.", nil, false)
		return Start{}, b.Write(r)
	case Switched:
		if running == r.From && r.Starts > 0 { // somebody has put the link back
			return b.giveUp(r, running, "The link was put back before the release was ready.")
		}
		if running == r.From { // the link was not switched yet
			if err := b.link("current", r.From); err != nil {
				return Start{}, err
			}
			r.fail(Failed, "It was interrupted during the switch.", nil, false)
			return Start{}, b.Write(r)
		}
		if running != r.To {
			return Start{}, nil // somebody has pointed it to a third release
		}
		return b.count(r, invocation)
	case Failing:
		return b.finishRollback(r, running)
	}
	return Start{}, nil
}

// count records another start of a release that is not ready yet.
func (b Base) count(r Record, invocation string) (Start, error) {
	unwatched := !b.isWatched()
	if unwatched && (r.Starts == 0 || time.Since(r.Switched) > readyTime) {
		r.Switched = time.Now().UTC() // its time starts now: it was installed while nothing ran, or the host was down
	}
	if invocation == "" || invocation != r.Invocation {
		r.Starts++
		r.Invocation = invocation
	}
	r.PID = os.Getpid()
	if r.Starts > maxStarts {
		return b.giveUp(r, r.To, fmt.Sprintf("It was started %d times and did not become ready.", maxStarts))
	}
	if err := b.Write(r); err != nil {
		return Start{}, err
	}
	crash("started")
	return Start{Watched: true, Unwatched: unwatched}, nil
}

// Guard is AtStart for the last good release, which the supervisor runs before the current one: it helps even if the
// new one cannot start at all.
func (b Base) Guard(invocation string) error {
	r, err := b.Read()
	if err != nil {
		return err
	}
	switch {
	case r.Phase == Failing:
		_, err = b.finishRollback(r, r.From)
	case r.Phase == Switched && b.Current() == r.To:
		_, err = b.count(r, invocation)
	}
	return err
}

// giveUp starts a rollback and completes it. From its first write on, whichever process starts next continues it.
func (b Base) giveUp(r Record, running, why string) (Start, error) {
	r.fail(Failing, why, b.lastWords(), true)
	if err := b.Write(r); err != nil {
		return Start{}, err
	}
	return b.finishRollback(r, running)
}

// finishRollback restores the old state and the old release. Each step may be repeated; the state is locked meanwhile.
func (b Base) finishRollback(r Record, running string) (Start, error) {
	lock, err := lockState(r.State)
	if err != nil {
		return Start{}, err
	}
	defer lock.Close()
	if r, err = b.Read(); err != nil {
		return Start{}, err
	}
	next := Start{}
	if running != r.From {
		next.Exec = b.Program(r.From)
	}
	if r.Phase != Failing {
		return next, nil // another process was faster
	}
	if err := b.link("current", r.From); err != nil {
		return Start{}, err
	}
	crash("unlinked")
	before, aside := b.path("state-before", r.To), b.path("state-failed", r.To)
	if _, err := os.Stat(aside); errors.Is(err, fs.ErrNotExist) {
		if err := b.setAside(r.State, aside); err != nil {
			return Start{}, err
		}
	}
	crash("aside")
	if err := restoreState(before, r.State); err != nil {
		return Start{}, full(err, b)
	}
	crash("restored")
	r.Phase, r.Ended = RolledBack, time.Now().UTC()
	return next, b.Write(r)
}

// setAside keeps what the latest failed release wrote.
func (b Base) setAside(from, aside string) error {
	if err := os.RemoveAll(filepath.Dir(aside)); err != nil {
		return fmt.Errorf("remove an older failed state: %w", err)
	}
	part := filepath.Join(filepath.Dir(aside), ".part")
	err := state.Walk(from, func(name string, d fs.DirEntry) error {
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(part, name), 0o700)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		return copyFile(filepath.Join(from, name), filepath.Join(part, name), false)
	})
	if err == nil {
		err = os.Rename(part, aside)
	}
	if errors.Is(err, syscall.ENOSPC) { // it is only needed to find the cause
		return os.RemoveAll(filepath.Dir(aside))
	}
	if err != nil {
		return fmt.Errorf("keep the failed state: %w", err)
	}
	return nil
}

// Ready completes the update: the running release is kept. It is called once, before the release does anything that
// others see.
func (b Base) Ready(running string) error {
	r, err := b.Read()
	if err != nil || r.Phase != Switched || running != r.To {
		return err
	}
	crash("ready")
	r.Phase, r.Ended, r.Why, r.Log = Done, time.Now().UTC(), "", nil
	delete(r.Failures, r.To)
	if err := b.Write(r); err != nil {
		return err
	}
	crash("done")
	return b.link("good", running)
}

// maxLog bounds what is searched for the cause of a failure: a fatal error lists all goroutines after it.
const maxLog = 4 << 20

// logFile contains the log of a new release until it is ready.
func (b Base) logFile() string { return b.path("update.log") }

// lastWords returns the last lines that a failed release logged.
func (b Base) lastWords() []string {
	f, err := os.Open(b.logFile())
	if err != nil {
		return nil
	}
	defer f.Close()
	tail := make([]byte, maxLog)
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	n, _ := f.ReadAt(tail, max(0, info.Size()-int64(len(tail))))
	return telling(readable(string(tail[:n])))
}

// StartWatch starts the old release's watcher, detached from this process; a second one ends at once. args start the
// old release again if no supervisor does it.
func (b Base) StartWatch(args []string) error {
	r, err := b.Read()
	if err != nil {
		return err
	}
	cmd := exec.Command(b.Program(r.From), append([]string{"update-watch", "--detach", "--"}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = os.Environ(), os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("start watcher: %w", err)
	}
	return nil
}
