package releases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/control"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/deploy/release"
	"matrix-tui/state"
)

// outcomeTime is how long the command line waits for the result of a switch: a new
// release has a minute, and a rollback takes some seconds.
const outcomeTime = 90 * time.Second

// SelfUpdate asks the running bot to update itself, or updates the release if no
// bot is running.
func SelfUpdate(ctx context.Context, a *cli.App, args []string) error {
	flags := a.Flags("self-update")
	again := flags.Bool("again", false, "retry a release that has failed twice")
	back := flags.Bool("back", false, "install the release even if it is older")
	if err := flags.Parse(args); err != nil {
		return &cli.UsageError{Text: err.Error()}
	}
	if flags.NArg() > 1 {
		return &cli.UsageError{Text: "self-update takes one tag, branch or commit, or nothing for the newest"}
	}
	cfg, err := a.Config(nil)
	if err != nil {
		return err
	}
	here := FindInstalled()
	if here == nil {
		return control.ErrNotInstalled
	}
	w := control.UpdateRequest{Ref: flags.Arg(0), Again: *again, Back: *back}
	asked := time.Now()
	running, err := control.CallUpdate(ctx, string(cfg.StateDir), w, a.Stdout)
	switch {
	case err != nil && err.Error() == control.NothingNew:
		fmt.Fprintln(a.Stdout, "Already up to date.")
		return nil
	case err != nil:
		return err
	case running:
		return here.await(ctx, a, asked)
	}
	return here.updateAlone(ctx, a, cfg, w)
}

// await reports the result of the bot's switch.
func (i *Installed) await(ctx context.Context, a *cli.App, asked time.Time) error {
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
			fmt.Fprintf(a.Stdout, "Updated from %s to %s; the bot was down for %s.\n", r.From, r.To, r.Ended.Sub(r.Stopped).Round(100*time.Millisecond))
			return nil
		case over && (r.Phase == release.RolledBack || r.Phase == release.Failed):
			for _, line := range r.Log {
				fmt.Fprintln(a.Stderr, "  "+line)
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
func (i *Installed) updateAlone(ctx context.Context, a *cli.App, cfg *settings.Config, w control.UpdateRequest) (err error) {
	lock, err := state.Lock(string(cfg.StateDir))
	if err != nil {
		return err
	}
	defer cli.Closing(&err, lock.Close)
	u := i.Updater(cfg)
	u.Offline = true
	o := release.Order{Ref: w.Ref, Again: w.Again, Back: w.Back}
	if _, err := u.Begin(o); err != nil {
		return err
	}
	_, err = u.Prepare(ctx, o, func(text string) { fmt.Fprintln(a.Stdout, text) })
	if errors.Is(err, release.ErrNothingNew) {
		fmt.Fprintln(a.Stdout, "Already up to date.")
		return nil
	}
	if err != nil {
		return errors.New(control.SaidOf(err))
	}
	if err := u.Commit(release.Snapshot{}); err != nil {
		return err
	}
	if _, err := u.Switch(ctx, nil); err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout, "Installed. The bot will use it at its next start.")
	return nil
}
