package main

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
	"matrix-tui/deploy/release"
	"matrix-tui/state"
)

// installed is the release that this process runs from; nil if the program is not in a
// release folder.
type installed struct {
	base    release.Base
	running string         // commit, 12 digits
	early   *release.Early // copies stderr until the bot is ready; nil if nothing needs it
}

// findInstalled returns the release of this program.
func findInstalled() *installed {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	base, commit, ok := release.Of(path)
	if !ok {
		return nil
	}
	return &installed{base: base, running: commit}
}

// supervised reports whether a supervisor restarts this program when it exits.
func supervised() bool { return os.Getenv("INVOCATION_ID") != "" || os.Getenv("NOTIFY_SOCKET") != "" }

// begin is the first step of a run: it completes or rolls back a pending update. It may
// replace this process with another release.
func (i *installed) begin(args []string) error {
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

// stderr returns where to write to instead of w: while a release is not ready, also to
// where a rollback finds it.
func (i *installed) stderr(w io.Writer) io.Writer {
	if i == nil || i.early == nil {
		return w
	}
	return i.early
}

// starting reports whether this process began as a new release that was not ready.
func (i *installed) starting() bool { return i != nil && i.early != nil }

// waits tells the watcher of an update, until this release is ready or ctx ends, while
// it waits for the homeserver: that time does not count.
func (i *installed) waits(ctx context.Context, ready <-chan struct{}, waiting func() bool, log zerolog.Logger) {
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

// ready marks an update as successful, before the bot does anything visible.
func (i *installed) ready(ctx context.Context, images release.Images, log zerolog.Logger) error {
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

// updater returns the bot's updater; nil if there are no releases.
func (i *installed) updater(cfg *Config) *release.Updater {
	if i == nil {
		return nil
	}
	podman := podmanURI(cfg)
	return &release.Updater{
		Base: i.base, Running: i.running, State: string(cfg.StateDir), Source: string(cfg.UpdateSource), Key: string(cfg.UpdateKey),
		Images:  release.Images{URL: podman, Name: string(cfg.Image)},
		Secrets: []string{cfg.Password.Reveal(), cfg.AccessToken.Reveal(), cfg.GeminiKey.Reveal(), cfg.APIToken.Reveal(), loadLogin(cfg).Token.Reveal()},
	}
}

// takeOver switches to the prepared release after the bot has stopped, and replaces
// this process with it, or with the current release if that fails. It returns only if
// the process is to exit.
func takeOver(ctx context.Context, cfg *Config, u *release.Updater, args []string, log zerolog.Logger) error {
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

// watchCommand watches an update; it is a process of the old release.
func watchCommand(ctx context.Context, a *app, args []string) error {
	flags := a.flags("update-watch")
	detach := flags.Bool("detach", false, "start the watcher and return")
	if err := flags.Parse(args); err != nil {
		return &usageError{err.Error()}
	}
	i := findInstalled()
	if i == nil {
		return &usageError{"update-watch is internal: a release starts it itself"}
	}
	if *detach {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.Command(self, append([]string{"update-watch", "--"}, flags.Args()...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Dir, cmd.Stdout, cmd.Stderr = a.dir, os.Stdout, os.Stderr
		return cmd.Start()
	}
	program, err := i.base.Watch(ctx, supervised())
	if err != nil || program == "" {
		return err
	}
	return release.Exec(program, flags.Args())
}

// guardCommand is run by the last good release before the current one starts.
func guardCommand(_ context.Context, a *app, args []string) error {
	if err := a.parse(a.flags("update-guard"), args); err != nil {
		return err
	}
	if i := findInstalled(); i != nil {
		return i.base.Guard(os.Getenv("INVOCATION_ID"))
	}
	return nil
}

// updates adapts release.Updater to the bot.
type updates struct{ *release.Updater }

func (u updates) Begin(o update.Order) (bool, error) { return u.Updater.Begin(release.Order(o)) }

func (u updates) Prepare(ctx context.Context, o update.Order, say func(string)) (string, error) {
	plan, err := u.Updater.Prepare(ctx, release.Order(o), say)
	if errors.Is(err, release.ErrNothingNew) {
		err = update.ErrNothingNew
	}
	return plan.To, err
}

func (u updates) Commit(s update.Snapshot) error { return u.Updater.Commit(release.Snapshot(s)) }

func (u updates) Result() (update.Result, bool) {
	r, untold := u.Updater.Result()
	return update.Result{
		Room: r.Room, Event: r.Event, From: r.From, To: r.To, Done: r.Phase == release.Done,
		Took: r.Ended.Sub(r.Begun), Down: r.Ended.Sub(r.Stopped), Subjects: r.Subjects,
		Why: r.Why, Log: r.Log, Before: update.Snapshot(r.Before),
	}, untold
}
