// Package account logs the bot in, and trusts the new identities of users.
package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/oauth"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state"
)

// Login logs in without a password: a person confirms a code in a browser.
func Login(ctx context.Context, a *cli.App, args []string) error {
	flags := a.Flags("login")
	ifNeeded := flags.Bool("if-needed", false,
		"do nothing if the bot has a login or can log in with its password or token")
	if err := a.Parse(flags, args); err != nil {
		return err
	}
	cfg, err := a.Config(nil)
	if err != nil {
		return err
	}
	if err := cli.FindHomeserver(ctx, cfg); err != nil {
		return err
	}
	for name, set := range map[string]bool{"MATRIX_USER": cfg.User != "", "MATRIX_HOMESERVER": cfg.User == "" ||
		cfg.Homeserver != ""} {
		if !set {
			return &settings.Error{Problems: []string{name + " is missing; expected " + settings.RightFor(name)}}
		}
	}
	stored := cli.LoadLogin(cfg)
	has := cfg.AccessToken.Set() || stored.Fits(cfg) && !stored.Ended()
	if *ifNeeded && !has && cfg.Password.Set() {
		call, cancel := context.WithTimeout(ctx, 15*time.Second)
		takes, err := matrix.TakesPassword(call, string(cfg.Homeserver))
		cancel()
		has = takes || err != nil // if it does not answer, the bot will wait for it
	}
	if *ifNeeded && has {
		return nil
	}
	// a bot that starts meanwhile would replace the new login
	if lock, err := state.Lock(string(cfg.StateDir)); err == nil {
		defer lock.Close()
	} else if !stored.Fits(cfg) || !stored.Ended() { // else the bot waits for this
		return err
	}
	log := cli.Logger(a.Stderr, cfg.LogLevel)
	user, device, err := matrix.LogInWithCode(ctx, matrix.Config{Homeserver: string(cfg.Homeserver),
		User: string(cfg.User), StateDir: string(cfg.StateDir), Log: log},
		func(c *oauth.Code) {
			link, also := c.Link, ""
			if c.Complete != "" {
				link, also = c.Complete, " (or "+c.Link+")"
			}
			fmt.Fprintf(a.Stdout, "Open %s%s\nin a browser, sign in as %s, and confirm the code %s within %.0f minutes.\n", link,
				also, cfg.User, c.Text, time.Until(c.Until).Minutes())
		})
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted: nothing has changed")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "Logged in as %s, device %s.\n", user, device)
	return err
}
