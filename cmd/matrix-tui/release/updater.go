package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Updater brings newer releases to a base, for the release that runs from it.
type Updater struct {
	Base    Base
	Running string // commit, 12 digits
	State   string // STATE_DIR
	Source  string // UPDATE_SOURCE: a git remote, or archive+ before the address of a folder of archives
	Key     string // UPDATE_KEY: file of the key that releases must be signed with, "" for none
	Images  Images
	Secrets []string // what nobody may be shown, whatever a program prints

	mu   sync.Mutex
	busy bool
}

// Order is somebody's wish for an update.
type Order struct {
	Ref   string // "" = the newest
	Again bool   // although it has failed twice
	Room  string // where to tell what comes of it, "" for nowhere
	Event string // the message that asked
}

// Plan is an update that may be switched to.
type Plan struct {
	From, To string // commits, 12 digits
	Version  string
	Subjects []string
	Back     bool // to is older
}

// Begin notes an order. The event of an order that was noted before is known:
// nothing is done for it again. While another one is at work it is refused with
// a sentence.
func (u *Updater) Begin(o Order) (known bool, err error) {
	if u.Source == "" {
		return false, tell(errors.New("no source"), "I do not know where releases come from: the operator sets UPDATE_SOURCE to a git remote, or to `archive+` and the address of a folder of release archives, and starts me again.")
	}
	if o.Ref != "" && !ValidRef(o.Ref) {
		return false, tell(fmt.Errorf("ref %q", o.Ref), "That is no name of a tag, a branch or a commit.")
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
		return false, tell(errors.New("busy"), "I am at an update already; wait for its end.")
	}
	r := Record{Phase: Asked, Ref: o.Ref, Room: o.Room, Event: o.Event, From: u.Running, State: u.State, Begun: time.Now().UTC(), Failures: last.Failures}
	if err := u.Base.Write(r); err != nil {
		return false, err
	}
	u.busy = true
	crash("asked")
	return false, nil
}

// Prepare does all that can be done while the old release works: it brings the
// new one to this host, verified, tries it, and builds its sandbox image. say
// is told how far it is. ErrNothingNew ends it well; every other error has the
// old release go on, and is written down.
func (u *Updater) Prepare(ctx context.Context, o Order, say func(string)) (Plan, error) {
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

// fetch brings the release that is wanted under its name.
func (u *Updater) fetch(ctx context.Context, o Order, log *os.File, say func(string)) (plan Plan, err error) {
	plan.From = u.Running
	var k *key
	if u.Key != "" {
		if k, err = openKey(ctx, u.Key); err != nil {
			return plan, err
		}
		defer k.close()
	}
	if address, ok := strings.CutPrefix(u.Source, archivePrefix); ok {
		return u.fetchArchive(ctx, shelf{address}, o, k, say)
	}
	m, err := openMirror(ctx, u.Base, u.Source)
	if err != nil {
		return plan, err
	}
	if err := m.fetch(ctx); err != nil {
		return plan, err
	}
	crash("fetched")
	name, commit, err := m.find(ctx, o.Ref, k != nil)
	if err != nil {
		return plan, err
	}
	plan.To, plan.Version = Short(commit), filepath.Base(name)
	plan.Back = m.older(ctx, u.fullName(), commit)
	if err := u.wanted(o, plan); err != nil {
		return plan, err
	}
	if k != nil {
		if err := k.checkGit(ctx, m, name, commit); err != nil {
			return plan, err
		}
	}
	history, err := m.history(ctx, commit)
	if err != nil {
		return plan, err
	}
	plan.Subjects = Info{History: history}.since(u.Running)
	say(plan.news() + "\n\nBuilding it beside the one that runs.")
	return plan, build(ctx, u.Base, m, name, commit, log)
}

func (u *Updater) fetchArchive(ctx context.Context, s shelf, o Order, k *key, say func(string)) (plan Plan, err error) {
	plan.From = u.Running
	if plan.To, err = s.find(ctx, o.Ref); err != nil {
		return plan, err
	}
	if err := u.wanted(o, plan); err != nil {
		return plan, err
	}
	say("Taking release `" + plan.To + "` from its archive.")
	if err := s.take(ctx, u.Base, plan.To, k); err != nil {
		return plan, err
	}
	info, err := u.Base.Info(plan.To)
	if err != nil {
		return plan, err
	}
	plan.Version, plan.Subjects = info.Version, info.since(u.Running)
	if have, err := u.Base.Info(u.Running); err == nil {
		plan.Back = len(have.since(plan.To)) < len(have.History) && have.knows(plan.To)
	}
	if plan.Back && o.Ref == "" {
		return plan, ErrNothingNew
	}
	say(plan.news())
	return plan, nil
}

// wanted refuses what is not to be updated to.
func (u *Updater) wanted(o Order, plan Plan) error {
	if plan.To == u.Running || plan.Back && o.Ref == "" {
		return ErrNothingNew
	}
	r, err := u.Base.Read()
	if err != nil {
		return err
	}
	if r.Failures[plan.To] >= 2 && !o.Again {
		return tell(errors.New("failed twice"), "Release `%s` has failed twice, so I do not try it again by myself. `!self_update %s again` makes me.", plan.To, plan.To)
	}
	return nil
}

// fullName is the running release's commit, all of it where it is known.
func (u *Updater) fullName() string {
	if info, err := u.Base.Info(u.Running); err == nil {
		return info.Commit
	}
	return u.Running
}

func (i Info) knows(commit string) bool {
	for _, c := range i.History {
		if Short(c.Commit) == commit {
			return true
		}
	}
	return false
}

// news tells what is new.
func (p Plan) news() string {
	text := "Release `" + p.To + "`"
	if p.Version != "" && p.Version != "." {
		text += " (" + p.Version + ")"
	}
	if p.Back {
		return text + " is **older** than the one that runs, `" + p.From + "`: going back."
	}
	text += " is newer than the one that runs, `" + p.From + "`:\n"
	for _, s := range p.Subjects {
		text += "\n- " + s
	}
	return text
}

// drop ends an order that does not lead to a switch, and hands its error on. An
// order that was cut off stays as it is: the next start tells so.
func (u *Updater) drop(ctx context.Context, plan Plan, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.busy = false
	err = u.clean(full(err, u.Base))
	var failed *trialError
	r, readErr := u.Base.Read()
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	r.To = plan.To
	r.fail(Failed, err.Error(), nil, errors.As(err, &failed))
	r.Told = true // by who asked
	return errors.Join(err, u.Base.Write(r), u.Base.prune())
}

// Commit writes down how things stand before the switch.
func (u *Updater) Commit(before Snapshot) error {
	r, err := u.Base.Read()
	if err != nil {
		return err
	}
	r.Before, r.Stopped = before, time.Now().UTC()
	if err := os.MkdirAll(u.Base.path("state-before"), 0o700); err != nil {
		return fmt.Errorf("make folder for copies of the state: %w", err)
	}
	return u.Base.Write(r)
}

// Result is what came of the last update, while nobody was told of it.
func (u *Updater) Result() (Record, bool) {
	r, err := u.Base.Read()
	over := r.Phase == Done || r.Phase == Failed || r.Phase == RolledBack
	if err != nil || !over || r.Told {
		return Record{}, false
	}
	text := strings.Join(r.Log, "\n")
	for _, secret := range u.Secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "redacted")
		}
	}
	r.Log = lastLines(text, 10)
	return r, true
}

// Told ends that.
func (u *Updater) Told() error {
	r, err := u.Base.Read()
	if err != nil {
		return err
	}
	r.Told = true
	return errors.Join(u.Base.Write(r), u.Base.prune(r.From))
}

// Switch puts the new release in place. Nobody works on the state any more, and
// its lock is held. What it returns is to be run in the place of this process,
// by exec: the new release, or the old one, when err says why.
func (u *Updater) Switch(ctx context.Context, args []string) (program string, err error) {
	r, err := u.Base.Read()
	if err == nil && r.Phase != Prepared {
		err = fmt.Errorf("update is %s, not prepared", r.Phase)
	}
	if err == nil {
		err = u.switchTo(ctx, r, args)
	}
	if err == nil {
		return u.Base.Program(r.To), nil
	}
	err = full(err, u.Base)
	if r.Phase == Prepared {
		r.fail(Failed, sentenceOf(err), nil, false)
		err = errors.Join(err, u.Base.link("current", r.From), u.Base.Write(r))
	}
	return u.Base.Program(u.Running), err
}

func (u *Updater) switchTo(ctx context.Context, r Record, args []string) error {
	copied := u.Base.path("state-before", r.To)
	if err := errors.Join(os.RemoveAll(copied), os.RemoveAll(copied+".part")); err != nil {
		return fmt.Errorf("remove an older copy of the state: %w", err)
	}
	if err := copyState(ctx, u.State, copied+".part", false); err != nil {
		return err
	}
	if err := os.Rename(copied+".part", copied); err != nil {
		return fmt.Errorf("name the copy of the state: %w", err)
	}
	if err := syncDir(filepath.Dir(copied)); err != nil {
		return fmt.Errorf("name the copy of the state: %w", err)
	}
	crash("copied")
	r.Phase, r.Switched, r.PID, r.Starts, r.Invocation = Switched, time.Now().UTC(), os.Getpid(), 0, ""
	if err := u.Base.Write(r); err != nil {
		return err
	}
	crash("switched")
	if err := u.Base.link("good", r.From); err != nil {
		return err
	}
	if err := u.Base.Use(r.To); err != nil {
		return err
	}
	crash("linked")
	if err := u.Base.StartWatch(args); err != nil {
		return err
	}
	crash("watched")
	return nil
}

// Exec runs a program in the place of this process, which keeps its number.
func Exec(program string, args []string) error {
	return syscall.Exec(program, append([]string{program}, args...), os.Environ())
}

// sentenceOf is what a person is told of an error.
func sentenceOf(err error) string {
	var said interface{ Sentence() string }
	if errors.As(err, &said) {
		return said.Sentence()
	}
	return err.Error()
}
