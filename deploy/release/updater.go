package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/update"
	"matrix-tui/state/sentence"
)

// Updater installs newer releases into a base, on behalf of the running release.
type Updater struct {
	Base    Base
	Running string // commit, 12 digits
	State   string // STATE_DIR
	Source  string // UPDATE_SOURCE: a git remote, or archive+ before the address of a folder of archives
	Key     string // UPDATE_KEY: file of the key that releases must be signed with, "" for none
	Images  Images
	Secrets []string // secrets to remove from programs' output

	busy atomic.Bool
}

// Begin records a request. If the same event was recorded before, known is true and nothing happens. During another
// update it returns an error with a sentence.
func (u *Updater) Begin(o update.Order) (known bool, err error) {
	switch {
	case u.Source == "":
		return false, sentence.Newf(errors.New("no source"),
			"I do not know where releases come from: the operator must set UPDATE_SOURCE to a git remote, or to `archive+` "+
				"and the address of a folder of release archives, and restart me.")
	case u.Key == "" && isOpen(u.Source):
		return false, sentence.Newf(errors.New("source without encryption or key"),
			"Anybody between this host and UPDATE_SOURCE could replace the releases: the operator must use https:// or ssh, "+
				"or set UPDATE_KEY.")
	case o.Ref != "" && !ValidRef(o.Ref):
		return false, sentence.Newf(fmt.Errorf("ref %q", o.Ref), "That is not a valid tag, branch or commit name.")
	}
	last, err := u.Base.Read()
	if known = o.Event != "" && last.Event == o.Event; known || err != nil {
		return known, err
	}
	if !u.busy.CompareAndSwap(false, true) {
		return false, sentence.Newf(errors.New("busy"), "An update is already running. Wait until it ends.")
	}
	r := update.Result{Room: o.Room, Event: o.Event, From: u.Running, Begun: time.Now().UTC()}
	err = u.Base.Write(Record{Phase: Asked, Result: r, State: u.State, Failures: last.Failures})
	if err != nil {
		u.busy.Store(false)
	}
	crash.At("update-asked")
	return false, err
}

// Prepare does everything that can be done while the old release works: it downloads or builds the new one, verifies
// it, tries it, and builds its sandbox image. say reports progress. update.ErrNothingNew ends the request successfully;
// with every other error the old release continues, and the error is recorded.
func (u *Updater) Prepare(ctx context.Context, o update.Order, say func(string)) (to string, err error) {
	err = errors.New("panic") // then the bot goes on, and may be asked again
	defer func() {
		if err != nil {
			err = u.drop(ctx, to, err)
		}
	}()
	to, err = u.prepare(ctx, o, say)
	return to, err
}

func (u *Updater) prepare(ctx context.Context, o update.Order, say func(string)) (to string, err error) {
	logFile := u.Base.path("cache", "update-build.log")
	if err := os.MkdirAll(filepath.Dir(logFile), 0o700); err != nil {
		return "", err
	}
	log, err := os.Create(logFile)
	if err != nil {
		return "", err
	}
	defer log.Close()
	plan, err := u.fetch(ctx, o, log, say)
	if err != nil {
		return plan.To, err
	}
	crash.At("update-built")
	say("Release `" + plan.To + "` is built: trying it on this host.")
	image := ""
	if err = u.try(ctx, plan.To); err == nil {
		image, err = u.Images.build(ctx, u.Base, u.Running, plan.To, log, say)
	}
	if err == nil {
		err = u.Base.change(func(r *Record) { r.To, r.Subjects, r.Image = plan.To, plan.Subjects, image })
	}
	crash.At("update-prepared")
	return plan.To, err
}

// errTrial means that a release failed its trial.
var errTrial = errors.New("trial failed")

// trialTime is how long each step of a trial may take.
const trialTime = 60 * time.Second

// try runs the new release's version and its doctor. It gets no state before Switch.
func (u *Updater) try(ctx context.Context, commit string) error {
	if err := u.Base.Check(commit); err != nil {
		return err
	}
	if err := roomFor(u.State, string(u.Base)); err != nil {
		return err
	}
	for _, one := range [][]string{{"does not start", "version"}, {"does not work on this host", "doctor", "--offline"}} {
		fails, args := one[0], one[1:]
		if _, err := (program{limit: trialTime}).run(ctx, append([]string{u.Base.Program(commit)}, args...)...); err != nil {
			return failed(fmt.Errorf("try release %s: %w: %w", commit, errTrial, err), "Release `%s` %s: %s.", commit, fails,
				errors.Unwrap(err))
		}
	}
	return nil
}

// drop ends a request that does not lead to a switch, and returns its error. An interrupted one stays recorded: the
// next start reports it.
func (u *Updater) drop(ctx context.Context, to string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	defer u.busy.Store(false)
	err = full(err, u.Base)
	if lines := sentence.Lines(err); len(lines) > 0 {
		err = sentence.New(err, sentence.Text(err)).With(u.redact(lines))
	}
	failing := u.Base.change(func(r *Record) {
		r.Phase, r.To = Failed, to
		r.fails(err.Error(), nil, errors.Is(err, errTrial))
		r.Told = true // the sender of the request
	})
	return errors.Join(err, failing, u.Base.prune())
}

// redact removes the bot's secrets from lines of output.
func (u *Updater) redact(lines []string) []string {
	text := readable(strings.Join(lines, "\n") + "\n")
	for _, secret := range u.Secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "redacted")
		}
	}
	return telling(text)
}

// Commit records the state of things before the switch.
func (u *Updater) Commit(before update.Snapshot) error {
	err := u.Base.change(func(r *Record) { r.Before, r.Stopped = before, time.Now().UTC() })
	if err != nil {
		u.busy.Store(false)
	}
	return err
}

// Result returns the result of the last update until Told is called.
func (u *Updater) Result() (update.Result, bool) {
	r, err := u.Base.Read()
	return r.Result, err == nil && (r.Phase == Done || r.Phase == Failed) && !r.Told
}

// Told marks the result as reported.
func (u *Updater) Told() error {
	from := ""
	return errors.Join(u.Base.change(func(r *Record) { r.Told, from = true, r.From }), u.Base.prune(from))
}
