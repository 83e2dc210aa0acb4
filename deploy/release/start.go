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

// readyTime is how long a new release has to become ready.
const readyTime = 60 * time.Second

// maxStarts is how often a new release is started before it is given up.
const maxStarts = 2

// Start is what a process that starts has to do about an update.
type Start struct {
	// Exec is a program to run in the place of this one; "" = go on.
	Exec string
	// Watched says that this is a new release which is not ready yet.
	Watched bool
	// Unwatched says that nobody sees to it that it becomes ready in time.
	Unwatched bool
}

// AtStart looks, before anything else is done, how far the present update is:
// running is the commit of this program. What was cut off is brought to an end:
// before the switch it is as if nothing had been asked, and a release that was
// started too often without becoming ready is rolled back.
func (b Base) AtStart(running, invocation string) (Start, error) {
	r, err := b.Read()
	if err != nil {
		return Start{}, err
	}
	switch r.Phase {
	case Asked, Prepared:
		r.fail(Failed, "It was cut off: I went down while I prepared it.", nil, false)
		return Start{}, b.Write(r)
	case Switched:
		if running == r.From && r.Starts > 0 { // somebody has put the link back
			return b.giveUp(r, running, "The link to it was put back before it was ready.")
		}
		if running == r.From { // the link was not switched yet
			if err := b.link("current", r.From); err != nil {
				return Start{}, err
			}
			r.fail(Failed, "It was cut off in the moment of the switch.", nil, false)
			return Start{}, b.Write(r)
		}
		if running != r.To {
			return Start{}, nil // somebody has put a third one in place
		}
		return b.count(r, invocation)
	case Failing:
		return b.finishRollback(r, running)
	}
	return Start{}, nil
}

// count notes another start of a release that is not ready yet.
func (b Base) count(r Record, invocation string) (Start, error) {
	unwatched := !b.isWatched()
	if unwatched && (r.Starts == 0 || time.Since(r.Switched) > readyTime) {
		r.Switched = time.Now().UTC() // its time begins: it was put in place while nothing ran, or the host was down
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

// Guard is AtStart for the last good release, run ahead of the current one by
// whoever starts that: it helps also where the new one cannot even begin.
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

// giveUp begins a rollback and ends it. From its first write on, whoever starts
// next goes on with it.
func (b Base) giveUp(r Record, running, why string) (Start, error) {
	r.fail(Failing, why, b.lastWords(), true)
	if err := b.Write(r); err != nil {
		return Start{}, err
	}
	return b.finishRollback(r, running)
}

// finishRollback brings the old state and the old release back. Each step may
// be repeated; the state's lock is held meanwhile.
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
		return next, nil // somebody else was faster
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

// setAside keeps what a failed release wrote, of the last one alone.
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
	if errors.Is(err, syscall.ENOSPC) { // it only serves to find out what was wrong
		return os.RemoveAll(filepath.Dir(aside))
	}
	if err != nil {
		return fmt.Errorf("keep the failed state: %w", err)
	}
	return nil
}

// Ready ends the update well: the release that runs is to stay. It is called
// once, before the release does anything that others see.
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

// logFile takes what a new release says before it is ready.
func (b Base) logFile() string { return b.path("update.log") }

// OpenLog is the file for what a new release says before it is ready; it is
// begun anew by each start.
func (b Base) OpenLog() (*os.File, error) {
	return os.OpenFile(b.logFile(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
}

// lastWords are the last lines that a failed release has said.
func (b Base) lastWords() []string {
	f, err := os.Open(b.logFile())
	if err != nil {
		return nil
	}
	defer f.Close()
	tail := make([]byte, 16<<10)
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	n, _ := f.ReadAt(tail, max(0, info.Size()-int64(len(tail))))
	return telling(readable(string(tail[:n])))
}

// StartWatch starts the watcher of the old release, detached from this process;
// one that runs already stays alone. args are those with which the old release
// is started again where nobody else does it.
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
