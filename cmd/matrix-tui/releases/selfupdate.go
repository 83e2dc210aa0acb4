// Package releases builds and installs releases, and lets a running bot switch to another one.
package releases

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/update"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/deploy/release"
	"matrix-tui/state"
)

// Installed is the release that this process runs from; nil if the program is not in a
// release folder.
type Installed struct {
	base    release.Base
	running string         // commit, 12 digits
	early   *release.Early // copies stderr until the bot is ready; nil if nothing needs it
}

// FindInstalled returns the release of this program.
func FindInstalled() *Installed {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	base, commit, ok := release.Of(path)
	if !ok {
		return nil
	}
	return &Installed{base: base, running: commit}
}

// supervised reports whether a supervisor restarts this program when it exits.
func supervised() bool { return os.Getenv("INVOCATION_ID") != "" || os.Getenv("NOTIFY_SOCKET") != "" }

// Begin is the first step of a run: it completes or rolls back a pending update. It may
// replace this process with another release.
func (i *Installed) Begin(args []string) error {
	if i == nil {
		return nil
	}
	start, err := i.base.AtStart(i.running, os.Getenv("INVOCATION_ID"))
	if err != nil {
		return err
	}
	if start.Exec != "" {
		return release.Exec(start.Exec, args)
	}
	if start.Unwatched {
		if err := i.base.StartWatch(args); err != nil {
			return err
		}
	}
	if !start.Watched {
		return nil
	}
	i.early, err = i.base.Capture()
	return err
}

// Stderr returns where to write to instead of w: while a release is not ready, also to
// where a rollback finds it.
func (i *Installed) Stderr(w io.Writer) io.Writer {
	if i == nil || i.early == nil {
		return w
	}
	return i.early
}

// Starting reports whether this process began as a new release that was not ready.
func (i *Installed) Starting() bool { return i != nil && i.early != nil }

// Waits tells the watcher of an update, until this release is ready or ctx ends, while
// it waits for the homeserver: that time does not count.
func (i *Installed) Waits(ctx context.Context, ready <-chan struct{}, waiting func() bool, log zerolog.Logger) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ready:
			return
		case <-tick.C:
		}
		if !waiting() {
			continue
		}
		if err := i.base.Waits(); err != nil {
			log.Warn().Err(err).Msg("cannot tell the update's watcher that the homeserver does not answer")
		}
	}
}

// Ready marks an update as successful, before the bot does anything visible.
func (i *Installed) Ready(ctx context.Context, images release.Images, log zerolog.Logger) error {
	if i == nil {
		return nil
	}
	if err := i.base.Ready(i.running); err != nil {
		return err
	}
	if i.early != nil {
		if err := i.early.Close(); err != nil {
			log.Warn().Err(err).Msg("cannot restore stderr")
		}
	}
	if r, err := i.base.Read(); err == nil && r.Phase == release.Done && !r.Told {
		if err := images.Take(ctx, r.Image); err != nil {
			log.Error().Err(err).Msg("could not switch to the new sandbox image: containers keep using the old one")
		}
	}
	return nil
}

// Updater returns the bot's updater; nil if there are no releases.
func (i *Installed) Updater(cfg *settings.Config) *release.Updater {
	if i == nil {
		return nil
	}
	podman := cli.PodmanURI(cfg)
	return &release.Updater{
		Base: i.base, Running: i.running, State: string(cfg.StateDir), Source: string(cfg.UpdateSource), Key: string(cfg.UpdateKey),
		Images:  release.Images{URL: podman, Name: string(cfg.Image)},
		Secrets: []string{cfg.Password.Reveal(), cfg.AccessToken.Reveal(), cfg.GeminiKey.Reveal(), cfg.APIToken.Reveal(), cli.LoadLogin(cfg).Token.Reveal()},
	}
}

// TakeOver switches to the prepared release after the bot has stopped, and replaces
// this process with it, or with the current release if that fails. It returns only if
// the process is to exit.
func TakeOver(ctx context.Context, cfg *settings.Config, u *release.Updater, args []string, log zerolog.Logger) error {
	lock, err := state.Lock(string(cfg.StateDir)) // kept until the new program is in place
	if err != nil {
		return err
	}
	defer lock.Close()
	program, err := u.Switch(ctx, args)
	if err != nil {
		log.Error().Err(err).Msg("switching to the new release failed: starting the current one again")
	}
	if ctx.Err() != nil {
		return nil // asked to exit meanwhile
	}
	return release.Exec(program, args)
}

// Watch watches an update; it is a process of the old release.
func Watch(ctx context.Context, a *cli.App, args []string) error {
	flags := a.Flags("update-watch")
	detach := flags.Bool("detach", false, "start the watcher and return")
	if err := flags.Parse(args); err != nil {
		return &cli.UsageError{Text: err.Error()}
	}
	i := FindInstalled()
	if i == nil {
		return &cli.UsageError{Text: "update-watch is internal: a release starts it itself"}
	}
	if *detach {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.Command(self, append([]string{"update-watch", "--"}, flags.Args()...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Dir, cmd.Stdout, cmd.Stderr = a.Dir, os.Stdout, os.Stderr
		return cmd.Start()
	}
	program, err := i.base.Watch(ctx, supervised())
	if err != nil || program == "" {
		return err
	}
	return release.Exec(program, flags.Args())
}

// Guard is run by the last good release before the current one starts.
func Guard(_ context.Context, a *cli.App, args []string) error {
	if err := a.Parse(a.Flags("update-guard"), args); err != nil {
		return err
	}
	if i := FindInstalled(); i != nil {
		return i.base.Guard(os.Getenv("INVOCATION_ID"))
	}
	return nil
}

// Updates adapts release.Updater to the bot.
type Updates struct{ *release.Updater }

func (u Updates) Begin(o update.Order) (bool, error) { return u.Updater.Begin(release.Order(o)) }

func (u Updates) Prepare(ctx context.Context, o update.Order, say func(string)) (string, error) {
	plan, err := u.Updater.Prepare(ctx, release.Order(o), say)
	if errors.Is(err, release.ErrNothingNew) {
		err = update.ErrNothingNew
	}
	return plan.To, err
}

func (u Updates) Commit(s update.Snapshot) error { return u.Updater.Commit(release.Snapshot(s)) }

func (u Updates) Result() (update.Result, bool) {
	r, untold := u.Updater.Result()
	return update.Result{
		Room: r.Room, Event: r.Event, From: r.From, To: r.To, Done: r.Phase == release.Done,
		Took: r.Ended.Sub(r.Begun), Down: r.Ended.Sub(r.Stopped), Subjects: r.Subjects,
		Why: r.Why, Log: r.Log, Before: update.Snapshot(r.Before),
	}, untold
}
