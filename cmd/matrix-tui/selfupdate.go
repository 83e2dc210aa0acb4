package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/deploy/release"
)

// installed is the release that this process runs from; nil if the program is not in a release folder.
type installed struct {
	base    release.Base
	running string // commit, 12 digits
}

// findInstalled returns the release of this program.
func findInstalled() *installed {
	path, _ := os.Executable()
	if base, commit, ok := release.Of(path); ok {
		return &installed{base, commit}
	}
	return nil
}

// errReady ends the rehearsal of a new release.
var errReady = errors.New("ready")

// waits tells the old release every second that this one still waits for the homeserver: that time does not count.
func waits(ctx context.Context, a *app, waiting func() bool) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		if waiting() {
			fmt.Fprintln(a.stdout, "waiting for the homeserver")
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// ready marks an update as successful, before the bot does anything visible.
func (i *installed) ready(ctx context.Context, images release.Images, log zerolog.Logger) error {
	if i == nil {
		return nil
	}
	image, err := i.base.Ready(i.running)
	if err == nil && image != "" {
		if err := images.Take(ctx, image); err != nil {
			log.Error().Err(err).Msg("could not switch to the new sandbox image: containers keep using the old one")
		}
	}
	return err
}

// updater returns the bot's updater; nil if there are no releases.
func (i *installed) updater(cfg *Config) *release.Updater {
	if i == nil {
		return nil
	}
	podman, _ := socketURI(cfg)
	return &release.Updater{
		Base: i.base, Running: i.running, State: string(cfg.StateDir), Source: string(cfg.UpdateSource), Key: string(cfg.UpdateKey),
		Images:  release.Images{URL: podman, Name: string(cfg.Image)},
		Secrets: []string{cfg.Password.Reveal(), cfg.AccessToken.Reveal(), cfg.GeminiKey.Reveal(), cfg.APIToken.Reveal(), loadLogin(cfg).Token.Reveal()},
	}
}

// takeOver switches to the prepared release after the bot has stopped, and replaces this process with it, or with the
// current release if that fails. It returns only if the process is to exit.
func takeOver(ctx context.Context, u *release.Updater, args []string, log zerolog.Logger) error {
	watched, done := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		supervisor{log}.watch(watched, nil, nil, func() string { return "starting a new release" })
	})
	program, err := u.Switch(ctx)
	done()
	watch.Wait()
	if ctx.Err() != nil {
		return nil // asked to exit meanwhile
	}
	if err != nil {
		log.Error().Err(err).Msg("switching to the new release failed: starting the current one again")
	}
	return release.Exec(program, args)
}
