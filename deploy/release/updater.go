package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

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
	Offline bool     // no bot is running, and the state is locked

	mu   sync.Mutex
	busy bool
}

// Order is a request for an update.
type Order struct {
	Ref   string // "" = the newest
	Again bool   // even if it has failed twice
	Back  bool   // even if it is older
	Room  string // the room to report to, "" for none
	Event string // the message of the request
}

// Begin records a request. If the same event was recorded before, known is true and nothing happens. During another
// update it returns an error with a sentence.
func (u *Updater) Begin(o Order) (known bool, err error) {
	if u.Source == "" {
		return false, sentence.Newf(errors.New("no source"), "I do not know where releases come from: the operator must set UPDATE_SOURCE to a git remote, or to `archive+` and the address of a folder of release archives, and restart me.")
	}
	if u.Key == "" && isOpen(u.Source) {
		return false, sentence.Newf(errors.New("source without encryption or key"), "Anybody between this host and UPDATE_SOURCE could replace the releases: the operator must use https:// or ssh, or set UPDATE_KEY.")
	}
	if o.Ref != "" && !ValidRef(o.Ref) {
		return false, sentence.Newf(fmt.Errorf("ref %q", o.Ref), "That is not a valid tag, branch or commit name.")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	last, err := u.Base.Read()
	if err != nil {
		return false, err
	}
	if o.Event != "" && last.Event == o.Event {
		return true, nil
	}
	if u.busy {
		return false, sentence.Newf(errors.New("busy"), "An update is already running. Wait until it ends.")
	}
	r := Record{Phase: Asked, Ref: o.Ref, Room: o.Room, Event: o.Event, From: u.Running, State: u.State, Begun: time.Now().UTC(), Failures: last.Failures}
	if err := u.Base.Write(r); err != nil {
		return false, err
	}
	u.busy = true
	crash("asked")
	return false, nil
}

// Prepare does everything that can be done while the old release works: it downloads or builds the new one, verifies
// it, tries it, and builds its sandbox image. say reports progress. ErrNothingNew ends the request successfully; with
// every other error the old release continues, and the error is recorded.
func (u *Updater) Prepare(ctx context.Context, o Order, say func(string)) (Plan, error) {
	defer func() {
		if said := recover(); said != nil { // the bot goes on, and may be asked again
			_ = u.drop(ctx, Plan{}, errors.New("panic"))
			panic(said)
		}
	}()
	plan, image, err := u.prepare(ctx, o, say)
	if err != nil {
		return plan, u.drop(ctx, plan, err)
	}
	r, err := u.Base.Read()
	if err == nil {
		r.Phase, r.To, r.Subjects, r.Image = Prepared, plan.To, plan.Subjects, image
		err = u.Base.Write(r)
	}
	if err != nil {
		return plan, u.drop(ctx, plan, err)
	}
	crash("prepared")
	return plan, nil
}

func (u *Updater) prepare(ctx context.Context, o Order, say func(string)) (Plan, string, error) {
	log, err := os.OpenFile(u.Base.path("cache", "update-build.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(u.Base.path("cache"), 0o700); err == nil {
			log, err = os.Create(u.Base.path("cache", "update-build.log"))
		}
	}
	if err != nil {
		return Plan{}, "", full(fmt.Errorf("open build log: %w", err), u.Base)
	}
	defer log.Close()
	plan, err := u.fetch(ctx, o, log, say)
	if err != nil {
		return plan, "", err
	}
	crash("built")
	say("Release `" + plan.To + "` is built: trying it on a copy of my state.")
	if err := u.try(ctx, plan.To); err != nil {
		return plan, "", err
	}
	crash("tried")
	image, err := u.Images.build(ctx, u.Base, u.Running, plan.To, log, say)
	return plan, image, err
}

// drop ends a request that does not lead to a switch, and returns its error. An interrupted one stays recorded: the
// next start reports it.
func (u *Updater) drop(ctx context.Context, plan Plan, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.busy = false
	err = u.clean(full(err, u.Base))
	r, readErr := u.Base.Read()
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	r.To = plan.To
	r.fail(Failed, err.Error(), nil, errors.Is(err, errTrial))
	r.Told = true // the sender of the request
	return errors.Join(err, u.Base.Write(r), u.Base.prune())
}
