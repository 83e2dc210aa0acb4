package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"matrix-tui/state/sentence"
)

// Commit records the state of things before the switch, and first copies the large files that only grow.
func (u *Updater) Commit(before Snapshot) error {
	r, err := u.Base.Read()
	if err != nil {
		return err
	}
	r.Before = before
	part := u.Base.path("state-before", r.To+".part")
	if err := errors.Join(os.RemoveAll(part), os.MkdirAll(part, 0o700)); err != nil {
		return fmt.Errorf("create folder for a copy of the state: %w", err)
	}
	if err := copyTranscripts(u.State, part); err != nil {
		return full(err, u.Base)
	}
	r.Stopped = time.Now().UTC()
	return u.Base.Write(r)
}

// Result returns the result of the last update until Told is called.
func (u *Updater) Result() (Record, bool) {
	r, err := u.Base.Read()
	over := r.Phase == Done || r.Phase == Failed || r.Phase == RolledBack
	if err != nil || !over || r.Told {
		return Record{}, false
	}
	text := strings.Join(r.Log, "\n")
	for _, secret := range u.Secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "redacted")
		}
	}
	r.Log = lastLines(text, 10)
	return r, true
}

// Told marks the result as reported.
func (u *Updater) Told() error {
	r, err := u.Base.Read()
	if err != nil {
		return err
	}
	r.Told = true
	return errors.Join(u.Base.Write(r), u.Base.prune(r.From))
}

// Switch activates the new release. Nobody may use the state any more, and its lock must be held. It returns the
// program to execute instead of this process: the new release, or the old one if err is set.
func (u *Updater) Switch(ctx context.Context, args []string) (program string, err error) {
	r, err := u.Base.Read()
	if err == nil && r.Phase != Prepared {
		err = fmt.Errorf("update is %s, not prepared", r.Phase)
	}
	if err == nil {
		err = u.switchTo(ctx, r, args)
	}
	if err == nil {
		return u.Base.Program(r.To), nil
	}
	err = full(err, u.Base)
	if r.Phase == Prepared {
		said, id := sentence.Tell(err)
		if id != "" {
			err = fmt.Errorf("internal error %s: %w", id, err) // for the log; the room gets the ID
		}
		r.fail(Failed, said, nil, false)
		err = errors.Join(err, u.Base.link("current", r.From), u.Base.Write(r))
	}
	return u.Base.Program(u.Running), err
}

func (u *Updater) switchTo(ctx context.Context, r Record, args []string) error {
	copied := u.Base.path("state-before", r.To)
	if err := os.RemoveAll(copied); err != nil {
		return fmt.Errorf("remove an older copy of the state: %w", err)
	}
	if err := copyState(ctx, u.State, copied+".part", false); err != nil {
		return err
	}
	if err := os.Rename(copied+".part", copied); err != nil {
		return fmt.Errorf("name the copy of the state: %w", err)
	}
	if err := syncDir(filepath.Dir(copied)); err != nil {
		return fmt.Errorf("name the copy of the state: %w", err)
	}
	crash("copied")
	r.Phase, r.Switched, r.PID, r.Starts, r.Invocation = Switched, time.Now().UTC(), os.Getpid(), 0, ""
	if err := u.Base.Write(r); err != nil {
		return err
	}
	crash("switched")
	if err := u.Base.link("good", r.From); err != nil {
		return err
	}
	if err := u.Base.Use(r.To); err != nil {
		return err
	}
	crash("linked")
	if u.Offline {
		return nil // the first start starts its own watcher
	}
	if err := u.Base.StartWatch(args); err != nil {
		return err
	}
	crash("watched")
	return nil
}

// Exec replaces this process with a program; the process ID stays the same.
func Exec(program string, args []string) error {
	return syscall.Exec(program, append([]string{program}, args...), os.Environ())
}
