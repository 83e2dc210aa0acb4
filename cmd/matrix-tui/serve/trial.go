package serve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"matrix-tui/bot"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Trial starts as far as a bot can without being seen: on a copy of the state, without syncing, sending or
// uploading anything. The running release calls it in the next one.
func Trial(ctx context.Context, a *cli.App, args []string) (err error) {
	flags := a.Flags("trial")
	dir := flags.String("state", "", "a copy of the state folder, which is changed")
	if err := a.Parse(flags, args); err != nil {
		return err
	}
	if !filepath.IsAbs(*dir) {
		return &cli.UsageError{Text: "trial needs -state FOLDER, a copy of the state"}
	}
	cfg, err := complete(ctx, a, map[string]string{"STATE_DIR": *dir})
	if err == nil {
		err = trial(ctx, a, cfg)
	}
	if err == nil {
		_, err = fmt.Fprintln(a.Stdout, "ready")
	}
	return err
}

// trial opens everything that a start opens, and writes an event.
func trial(ctx context.Context, a *cli.App, cfg *settings.Config) (err error) {
	log, dir := cli.Logger(a.Stderr, cfg.LogLevel), string(cfg.StateDir)
	lock, err := state.Lock(dir)
	if err != nil {
		return err
	}
	defer cli.Closing(&err, lock.Close)
	parts, closeParts, err := openParts(ctx, cfg, nil, log)
	if err != nil {
		return err
	}
	defer cli.Closing(&err, closeParts)
	if parts.Store.Corrupt() != "" || parts.Journal.Corrupt() != "" {
		return errors.New("the state cannot be read")
	}
	row := state.Event{Status: state.Pending, Event: event.Event{Room: "!trial", ID: "$trial", Type: "trial"}}
	if _, err := parts.Journal.Events.Commit(ctx, "", []state.Event{row}); err != nil {
		return err
	}
	if _, err := parts.Podman.List(ctx); err != nil {
		return err
	}
	return bot.Try(ctx, botConfig(cfg, log))
}
