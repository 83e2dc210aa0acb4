package serve

import (
	"cmp"
	"context"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
)

// startGrace is how much longer systemd is asked to wait, each time, while the bot
// starts: it may have to wait for the homeserver.
const startGrace = 30 * time.Second

// supervisor is systemd, or whatever else has set NOTIFY_SOCKET; otherwise its methods
// do nothing.
type supervisor struct{ log zerolog.Logger }

func (s supervisor) tell(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn().Err(err).Msg("notify systemd")
	}
}

// ready reports that the bot is up.
func (s supervisor) ready() { s.tell(daemon.SdNotifyReady + "\nSTATUS=serving") }

// stopping reports that the bot is shutting down.
func (s supervisor) stopping() { s.tell(daemon.SdNotifyStopping + "\nSTATUS=stopping") }

// watch keeps the supervisor informed until ctx ends: first that the bot is still
// starting, and from ready on at the watchdog's interval, as long as alive returns no
// error. With each sign of life goes what stalled says is in the way; "" is nothing.
func (s supervisor) watch(ctx context.Context, ready <-chan struct{},
	alive func(context.Context) error, stalled func() string) {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn().Err(err).Msg("read systemd's watchdog time")
	}
	begin := time.NewTicker(startGrace / 2)
	defer begin.Stop()
	for started := false; !started; {
		s.tell("EXTEND_TIMEOUT_USEC=30000000\n" + daemon.SdNotifyWatchdog + "\nSTATUS=" + cmp.Or(stalled(), "starting"))
		select {
		case <-ctx.Done():
			return
		case <-ready:
			started = true
		case <-begin.C:
		}
	}
	if every == 0 {
		return
	}
	beat := time.NewTicker(every / 3)
	defer beat.Stop()
	for {
		if err := alive(ctx); err == nil {
			s.tell(daemon.SdNotifyWatchdog + "\nSTATUS=" + cmp.Or(stalled(), "serving"))
		} else if ctx.Err() == nil {
			s.log.Error().Err(err).Msg("health check failed: watchdog not notified")
		}
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
	}
}
