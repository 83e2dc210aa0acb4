package releases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/update"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/control"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/deploy/release"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// outcomeTime is how long the command line waits for the result of a switch: a new release has a minute, and a rollback
// takes some seconds.
const outcomeTime = 90 * time.Second

// SelfUpdate asks the running bot to update itself, or updates the release if no bot is running.
func SelfUpdate(ctx context.Context, a *cli.App, args []string) error {
	var o update.Order
	flags := a.Flags("self-update")
	flags.BoolVar(&o.Again, "again", false, "retry a release that has failed twice")
	flags.BoolVar(&o.Back, "back", false, "install the release even if it is older")
	if err := flags.Parse(args); err != nil {
		return &cli.UsageError{Text: err.Error()}
	}
	if flags.NArg() > 1 {
		return &cli.UsageError{Text: "self-update takes one tag, branch or commit, or nothing for the newest"}
	}
	o.Ref = flags.Arg(0)
	cfg, err := a.Config(nil)
	if err != nil {
		return err
	}
	here := FindInstalled()
	if elsewhere := Elsewhere(); here == nil && elsewhere != "" {
		return errors.New(elsewhere)
	}
	if here == nil {
		return control.ErrNotInstalled
	}
	asked := time.Now()
	running, err := control.CallUpdate(ctx, string(cfg.StateDir), o, a.Stdout)
	if err == nil && running {
		err = here.await(ctx, a, asked)
	} else if err == nil {
		err = here.updateAlone(ctx, a, cfg, o)
	}
	if errors.Is(err, update.ErrNothingNew) {
		_, err = fmt.Fprintln(a.Stdout, "Already up to date.")
	}
	return err
}

// await reports the result of the bot's switch.
func (i *Installed) await(ctx context.Context, a *cli.App, asked time.Time) error {
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
			_, err := fmt.Fprintf(a.Stdout, "Updated from %s to %s; the bot was down for %s.\n", r.From, r.To, r.Down())
			return err
		}
		if err := retry.Sleep(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("wait for the new release: %w", err)
		}
	}
}

// updateAlone installs the release while no bot is running.
func (i *Installed) updateAlone(ctx context.Context, a *cli.App, cfg *settings.Config, o update.Order) error {
	if err := i.AtStart(); err != nil { // an update may have been interrupted
		return err
	}
	lock, err := state.Lock(string(cfg.StateDir))
	if err != nil {
		return err
	}
	u := i.Updater(cfg)
	_, err = u.Begin(o)
	if err == nil {
		_, err = u.Prepare(ctx, o, func(text string) { fmt.Fprintln(a.Stdout, text) })
	}
	cli.Closing(&err, lock.Close)
	if err == nil {
		_, err = u.Switch(ctx)
	}
	if err != nil && !errors.Is(err, update.ErrNothingNew) {
		return errors.New(control.SaidOf(err))
	}
	if err == nil {
		fmt.Fprintln(a.Stdout, "Installed. The bot will use it at its next start.")
	}
	return err
}
