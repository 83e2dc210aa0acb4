package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/deploy/release"
	"matrix-tui/state"
)

// outcomeTime is how long the command line waits for the result of a switch: a new
// release has a minute, and a rollback takes some seconds.
const outcomeTime = 90 * time.Second

// selfUpdateCommand asks the running bot to update itself, or updates the release if no
// bot is running.
func selfUpdateCommand(ctx context.Context, a *app, args []string) error {
	flags := a.flags("self-update")
	again := flags.Bool("again", false, "retry a release that has failed twice")
	back := flags.Bool("back", false, "install the release even if it is older")
	if err := flags.Parse(args); err != nil {
		return &usageError{err.Error()}
	}
	if flags.NArg() > 1 {
		return &usageError{"self-update takes one tag, branch or commit, or nothing for the newest"}
	}
	cfg, err := a.config(nil)
	if err != nil {
		return err
	}
	here := findInstalled()
	if here == nil {
		return errNotInstalled
	}
	w := updateRequest{flags.Arg(0), *again, *back}
	asked := time.Now()
	running, err := callUpdate(ctx, string(cfg.StateDir), w, a.stdout)
	switch {
	case err != nil && err.Error() == nothingNew:
		fmt.Fprintln(a.stdout, "Already up to date.")
		return nil
	case err != nil:
		return err
	case running:
		return here.await(ctx, a, asked)
	}
	return here.updateAlone(ctx, a, cfg, w)
}

// await reports the result of the bot's switch.
func (i *installed) await(ctx context.Context, a *app, asked time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, outcomeTime)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := i.base.Read()
		switch over := r.Ended.After(asked); {
		case err != nil:
			return err
		case over && r.Phase == release.Done:
			fmt.Fprintf(a.stdout, "Updated from %s to %s; the bot was down for %s.\n", r.From, r.To, r.Ended.Sub(r.Stopped).Round(100*time.Millisecond))
			return nil
		case over && (r.Phase == release.RolledBack || r.Phase == release.Failed):
			for _, line := range r.Log {
				fmt.Fprintln(a.stderr, "  "+line)
			}
			return fmt.Errorf("the update failed; the bot is still at %s: %s", r.From, r.Why)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the new release: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// updateAlone installs the release while no bot is running.
func (i *installed) updateAlone(ctx context.Context, a *app, cfg *Config, w updateRequest) (err error) {
	lock, err := state.Lock(string(cfg.StateDir))
	if err != nil {
		return err
	}
	defer closing(&err, lock.Close)
	u := i.updater(cfg)
	u.Offline = true
	o := release.Order{Ref: w.Ref, Again: w.Again, Back: w.Back}
	if _, err := u.Begin(o); err != nil {
		return err
	}
	_, err = u.Prepare(ctx, o, func(text string) { fmt.Fprintln(a.stdout, text) })
	if errors.Is(err, release.ErrNothingNew) {
		fmt.Fprintln(a.stdout, "Already up to date.")
		return nil
	}
	if err != nil {
		return errors.New(saidOf(err))
	}
	if err := u.Commit(release.Snapshot{}); err != nil {
		return err
	}
	if _, err := u.Switch(ctx, nil); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "Installed. The bot will use it at its next start.")
	return nil
}
