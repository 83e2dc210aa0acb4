package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/oauth"
	"matrix-tui/state"
)

// loginCommand logs in without a password: a person confirms a code in a browser.
func loginCommand(ctx context.Context, a *app, args []string) error {
	flags := a.flags("login")
	ifNeeded := flags.Bool("if-needed", false, "do nothing if the bot has a login or can log in with its password or token")
	if err := a.parse(flags, args); err != nil {
		return err
	}
	cfg, err := a.config(nil)
	if err != nil {
		return err
	}
	if err := findHomeserver(ctx, cfg); err != nil {
		return err
	}
	for name, set := range map[string]bool{"MATRIX_USER": cfg.User != "", "MATRIX_HOMESERVER": cfg.User == "" || cfg.Homeserver != ""} {
		if !set {
			return &SettingsError{[]string{name + " is missing; expected " + rightFor(name)}}
		}
	}
	stored := loadLogin(cfg)
	has := cfg.AccessToken.Set() || stored.fits(cfg) && !stored.ended()
	if *ifNeeded && !has && cfg.Password.Set() {
		call, cancel := context.WithTimeout(ctx, 15*time.Second)
		takes, err := matrix.TakesPassword(call, string(cfg.Homeserver))
		cancel()
		has = takes || err != nil // if it does not answer, the bot will wait for it
	}
	if *ifNeeded && has {
		return nil
	}
	if lock, err := state.Lock(string(cfg.StateDir)); err == nil { // a bot that starts meanwhile would replace the new login
		defer lock.Close()
	} else if !stored.fits(cfg) || !stored.ended() { // else the bot waits for this
		return err
	}
	log := logger(a.stderr, cfg.LogLevel)
	user, device, err := matrix.LogInWithCode(ctx, matrix.Config{Homeserver: string(cfg.Homeserver), User: string(cfg.User), StateDir: string(cfg.StateDir), Log: log},
		func(c *oauth.Code) {
			link, also := c.Link, ""
			if c.Complete != "" {
				link, also = c.Complete, " (or "+c.Link+")"
			}
			fmt.Fprintf(a.stdout, "Open %s%s\nin a browser, sign in as %s, and confirm the code %s within %.0f minutes.\n", link, also, cfg.User, c.Text, time.Until(c.Until).Minutes())
		})
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted: nothing has changed")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Logged in as %s, device %s.\n", user, device)
	return err
}
