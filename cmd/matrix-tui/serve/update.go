package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/deploy/release"
)

// errReady ends the rehearsal of a new release.
var errReady = errors.New("ready")

// tellWaiting tells the old release every second that this one still waits for the homeserver: that time does not
// count.
func tellWaiting(ctx context.Context, to io.Writer, waiting func() bool) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		if waiting() {
			fmt.Fprintln(to, "waiting for the homeserver")
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
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
