package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

const (
	// readyTime is how long a new release has to become ready, not counting the time that it waits for the homeserver.
	readyTime = 60 * time.Second
	// waitTime is how long a new release may wait for the homeserver.
	waitTime = 30 * time.Minute
	// lockTime is how long a killed release may still hold the state's lock.
	lockTime = 10 * time.Second
)

// Switch copies the state aside and starts the new release with it, until that is ready. Then the link makes it the
// current one; otherwise the old one gets its state back. Nobody else may use the state meanwhile. It returns the
// program to execute instead of this process: the new release, or the old one if err is set.
func (u *Updater) Switch(ctx context.Context) (program string, err error) {
	r, err := u.Base.Read()
	if err != nil || r.Phase != Asked || r.To == "" {
		return u.Base.Program(u.Running), errors.Join(err, fmt.Errorf("update is %s, not prepared", r.Phase))
	}
	why, err := u.rehearse(ctx, &r)
	if err == nil {
		crash.At("update-rehearsed")
		err = u.Base.Use(r.To) // from here on, any start is the new release's
	}
	if err == nil {
		crash.At("update-linked")
		return u.Base.Program(r.To), nil
	}
	program = u.Base.Program(u.Running)
	if ctx.Err() != nil {
		return program, ctx.Err() // the next start rolls back
	}
	if id := ""; why == "" {
		if why, id = sentence.Tell(full(err, u.Base)); id != "" { // the room gets the ID, the log the error
			err = fmt.Errorf("internal error %s: %w", id, err)
		}
	}
	r.fails(why, u.redact(sentence.Lines(err)), errors.Is(err, errTrial))
	if writeErr := u.Base.Write(r); writeErr != nil {
		return program, errors.Join(err, writeErr)
	}
	if u.Base.Current() != r.From {
		err = errors.Join(err, u.Base.Use(r.From))
	}
	crash.At("update-failing")
	return program, errors.Join(err, u.Base.rollBack(r))
}

// rehearse copies the state aside and starts the new release until it is ready. why is the release's own failure.
func (u *Updater) rehearse(ctx context.Context, r *Record) (why string, err error) {
	lock, err := lockState(u.State)
	if err != nil {
		return "", err
	}
	before := u.Base.path("state-before", r.To)
	if err = os.RemoveAll(before); err == nil {
		err = copyState(ctx, u.State, before)
	}
	crash.At("update-copied")
	if err := errors.Join(err, lock.Close()); err != nil {
		return "", fmt.Errorf("copy the state aside: %w", err)
	}
	r.Phase = Switched
	if err := u.Base.Write(*r); err != nil {
		r.Phase = Asked
		return "", err
	}
	crash.At("update-switched")
	waiting, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	out, err := program{limit: readyTime, extends: true, log: os.Stderr}.run(waiting, u.Base.Program(r.To), "run",
		"-until-ready")
	switch {
	case err == nil && strings.HasSuffix(out, "ready\n"):
		return "", nil
	case errors.Is(err, errLate):
		why = fmt.Sprintf("It was not ready within %d seconds.", int(readyTime.Seconds()))
	case waiting.Err() != nil:
		why = fmt.Sprintf("It was still waiting for the homeserver after %d minutes.", int(waitTime.Minutes()))
	default:
		why = "It ended before it was ready."
	}
	return why, failed(errors.Join(errTrial, err), "%s", why)
}

// AtStart completes, before anything else, what was interrupted; running is the commit of this program.
func (b Base) AtStart(running string) error {
	r, err := b.Read()
	switch {
	case err == nil && r.Phase == Asked:
		r.fails("It was interrupted: I went down while preparing it.", nil, false)
	case err == nil && r.Phase == Switched && running == r.From:
		if r.Why == "" {
			r.fails("It was interrupted during the switch.", nil, false)
		}
	default:
		return err
	}
	return b.rollBack(r)
}

// rollBack gives the old release its state back, if the new one had it. It can be interrupted and repeated.
func (b Base) rollBack(r Record) error {
	lock, err := lockState(r.State)
	if err != nil {
		return err
	}
	defer lock.Close()
	if r.Phase == Switched {
		aside := b.path("state-failed", r.To)
		_ = os.RemoveAll(filepath.Dir(aside))
		if err := copyState(context.Background(), r.State, aside); err != nil {
			_ = os.RemoveAll(aside) // it is only needed to find the cause
		}
		crash.At("update-aside")
		if err := copyState(context.Background(), b.path("state-before", r.To), r.State); err != nil {
			return full(err, b)
		}
		crash.At("update-restored")
	}
	r.Phase, r.Ended = Failed, time.Now().UTC()
	return b.Write(r)
}

// lockState locks the state folder, as the bot does, so that none starts meanwhile.
func lockState(dir string) (lock *state.DirLock, err error) {
	for until := time.Now().Add(lockTime); ; time.Sleep(50 * time.Millisecond) {
		if lock, err = state.Lock(dir); !errors.Is(err, state.ErrLocked) || time.Now().After(until) {
			return lock, err
		}
	}
}

// Ready completes the update: the running release is kept. It is called once, before the release does anything that
// others see. It returns the sandbox image that was built for it, until the update was reported.
func (b Base) Ready(running string) (image string, err error) {
	r, err := b.Read()
	if err == nil && r.Phase == Switched && running == r.To {
		crash.At("update-ready")
		r.Phase, r.Done, r.Ended = Done, true, time.Now().UTC()
		delete(r.Failures, r.To)
		// An earlier release's unit starts the guard of the release that this link points to: see parseRecord.
		err = errors.Join(b.Write(r), os.RemoveAll(b.path("good")))
	}
	if err != nil || r.Phase != Done || r.Told {
		return "", err
	}
	return r.Image, nil
}
