package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"matrix-tui/bot"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// trialCommand starts as far as a bot can without being seen: on a copy of the state, without syncing, sending or
// uploading anything. The running release calls it in the next one.
func trialCommand(ctx context.Context, a *app, args []string) (err error) {
	flags := a.flags("trial")
	dir := flags.String("state", "", "a copy of the state folder, which is changed")
	if err := a.parse(flags, args); err != nil {
		return err
	}
	if !filepath.IsAbs(*dir) {
		return &usageError{"trial needs -state FOLDER, a copy of the state"}
	}
	cfg, err := a.complete(ctx, map[string]string{"STATE_DIR": *dir})
	if err == nil {
		err = trial(ctx, a, cfg)
	}
	if err == nil {
		_, err = fmt.Fprintln(a.stdout, "ready")
	}
	return err
}

// trial opens everything that a start opens, and writes an event.
func trial(ctx context.Context, a *app, cfg *Config) (err error) {
	log, dir := logger(a.stderr, cfg.LogLevel), string(cfg.StateDir)
	lock, err := state.Lock(dir)
	if err != nil {
		return err
	}
	defer closing(&err, lock.Close)
	parts, closeParts, err := openParts(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer closing(&err, closeParts)
	if parts.Store.Corrupt() != "" || parts.Journal.Corrupt() != "" {
		return errors.New("the state cannot be read")
	}
	row := state.Event{Status: state.Pending, Event: event.Event{Room: "!trial", ID: "$trial", Type: "trial"}}
	if _, err := parts.Journal.Commit(ctx, "", []state.Event{row}); err != nil {
		return err
	}
	if _, err := parts.Podman.List(ctx); err != nil {
		return err
	}
	return bot.Try(ctx, botConfig(cfg, log))
}
