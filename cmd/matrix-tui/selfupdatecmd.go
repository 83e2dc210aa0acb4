package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/update"
	"matrix-tui/deploy/release"
	"matrix-tui/state"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

// outcomeTime is how long the command line waits for the result of a switch: a new release has a minute, and a rollback
// takes some seconds.
const outcomeTime = 90 * time.Second

var errNotInstalled = errors.New("this program is not in a release folder: run BASE/current/matrix-tui (deploy/install sets one up)")

// selfUpdateCommand asks the running bot to update itself, or updates the release if no bot is running.
func selfUpdateCommand(ctx context.Context, a *app, args []string) error {
	var o update.Order
	flags := a.flags("self-update")
	flags.BoolVar(&o.Again, "again", false, "retry a release that has failed twice")
	flags.BoolVar(&o.Back, "back", false, "install the release even if it is older")
	if err := flags.Parse(args); err != nil {
		return &usageError{err.Error()}
	}
	if flags.NArg() > 1 {
		return &usageError{"self-update takes one tag, branch or commit, or nothing for the newest"}
	}
	o.Ref = flags.Arg(0)
	cfg, err := a.config(nil)
	if err != nil {
		return err
	}
	here := findInstalled()
	if here == nil {
		return errNotInstalled
	}
	asked := time.Now()
	running, err := callUpdate(ctx, string(cfg.StateDir), o, a.stdout)
	if err == nil && running {
		err = here.await(ctx, a, asked)
	} else if err == nil {
		err = here.updateAlone(ctx, a, cfg, o)
	}
	if errors.Is(err, update.ErrNothingNew) {
		_, err = fmt.Fprintln(a.stdout, "Already up to date.")
	}
	return err
}

// await reports the result of the bot's switch.
func (i *installed) await(ctx context.Context, a *app, asked time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, outcomeTime)
	defer cancel()
	for {
		r, err := i.base.Read()
		if err != nil {
			return err
		}
		if r.Ended.After(asked) && r.Phase == release.Failed {
			return fmt.Errorf("the update failed; the bot is still at %s: %s\n  %s", r.From, r.Why, strings.Join(r.Log, "\n  "))
		}
		if r.Ended.After(asked) && r.Phase == release.Done {
			_, err := fmt.Fprintf(a.stdout, "Updated from %s to %s; the bot was down for %s.\n", r.From, r.To, r.Down())
			return err
		}
		if err := retry.Sleep(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("wait for the new release: %w", err)
		}
	}
}

// updateAlone installs the release while no bot is running.
func (i *installed) updateAlone(ctx context.Context, a *app, cfg *Config, o update.Order) error {
	lock, err := state.Lock(string(cfg.StateDir))
	if err != nil {
		return err
	}
	u := i.updater(cfg)
	_, err = u.Begin(o)
	if err == nil {
		_, err = u.Prepare(ctx, o, func(text string) { fmt.Fprintln(a.stdout, text) })
	}
	closing(&err, lock.Close)
	if err == nil {
		_, err = u.Switch(ctx)
	}
	if err != nil && !errors.Is(err, update.ErrNothingNew) {
		return errors.New(saidOf(err))
	}
	if err == nil {
		fmt.Fprintln(a.stdout, "Installed. The bot will use it at its next start.")
	}
	return err
}

// saidOf is the command line's message for a failed update.
func saidOf(err error) string {
	return strings.Join(append([]string{sentence.Text(err)}, sentence.Lines(err)...), "\n  ")
}
