package release

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"matrix-tui/state/sentence"
)

// Plan is an update that is ready for the switch.
type Plan struct {
	From, To string // commits, 12 digits
	Version  string
	Subjects []string
	Age      age // of To
}

// age says how a release relates to the running one.
type age int

const (
	unknown age = iota // neither is known to contain the other's history
	newer
	older
)

// ageOf compares the numbers of two releases of which neither is known to contain the other; 0 is unknown. One that is
// not older may still be from a side branch.
func ageOf(running, to int) age {
	if to > 0 && to < running {
		return older
	}
	return unknown
}

// age says how a commit of the source relates to the running release.
func (u *Updater) age(ctx context.Context, m *mirror, commit string) (age, error) {
	running := u.Running
	if info, err := u.Base.Info(running); err == nil {
		running = info.Commit
	}
	switch {
	case m.contains(ctx, commit, running):
		return newer, ctx.Err()
	case m.contains(ctx, running, commit):
		return older, ctx.Err()
	}
	number, err := m.number(ctx, commit)
	return ageOf(u.number(ctx, m), number), err
}

// fetch brings the requested release to this host, under its name.
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
	if plan.Age, err = u.age(ctx, m, commit); err != nil {
		return plan, err
	}
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
	say(plan.news() + "\n\nBuilding it next to the running one.")
	return plan, build(ctx, u.Base, m, name, commit, log)
}

func (u *Updater) fetchArchive(ctx context.Context, s shelf, o Order, k *key, say func(string)) (plan Plan, err error) {
	plan.From = u.Running
	if plan.To, err = s.find(ctx, o.Ref); err != nil {
		return plan, err
	}
	if err := u.mayInstall(o, plan.To); err != nil {
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
	have, _ := u.Base.Info(u.Running)
	switch {
	case info.knows(u.Running):
		plan.Age = newer
	case have.knows(plan.To):
		plan.Age = older
	default:
		plan.Age = ageOf(have.Number, info.Number)
	}
	if err := u.wanted(o, plan); err != nil {
		return plan, err
	}
	say(plan.news())
	return plan, nil
}

// wanted returns an error if this release must not be installed. A source that serves an older release under a newer
// name must not bring back its defects, so going back is a request of its own.
func (u *Updater) wanted(o Order, plan Plan) error {
	if plan.To == u.Running || plan.Age == older && o.Ref == "" && !o.Back {
		return ErrNothingNew
	}
	const how = " To install it all the same, send `!self_update %s back`, or run `matrix-tui self-update -back %s`."
	switch {
	case o.Back:
	case plan.Age == older:
		return sentence.Newf(errors.New("older release"), "Release `%s` is older than the running one, `%s`."+how, plan.To, plan.From, plan.To, plan.To)
	case plan.Age == unknown && u.Key != "":
		return sentence.Newf(errors.New("release of unknown age"), "Release `%s` may be older than the running one, `%s`."+how, plan.To, plan.From, plan.To, plan.To)
	}
	return u.mayInstall(o, plan.To)
}

// mayInstall returns an error if the release is the running one or has failed twice.
func (u *Updater) mayInstall(o Order, to string) error {
	if to == u.Running {
		return ErrNothingNew
	}
	r, err := u.Base.Read()
	if err != nil {
		return err
	}
	if r.Failures[to] >= 2 && !o.Again {
		return sentence.Newf(errors.New("failed twice"), "Release `%s` has failed twice, so I will not retry it on my own. Send `!self_update %s again` to force it.", to, to)
	}
	return nil
}

// number returns the running release's number; 0 if it cannot be determined.
func (u *Updater) number(ctx context.Context, m *mirror) int {
	info, err := u.Base.Info(u.Running)
	if err == nil && info.Number > 0 {
		return info.Number
	}
	commit := u.Running
	if err == nil {
		commit = info.Commit // built by an earlier release
	}
	n, err := m.number(ctx, commit)
	if err != nil {
		return 0 // the source does not have it
	}
	return n
}

func (i Info) knows(commit string) bool {
	for _, c := range i.History {
		if Short(c.Commit) == commit {
			return true
		}
	}
	return false
}

// news describes the difference between the releases.
func (p Plan) news() string {
	text := "Release `" + p.To + "`"
	if p.Version != "" && p.Version != "." {
		text += " (" + p.Version + ")"
	}
	switch p.Age {
	case older:
		return text + " is **older** than the running one, `" + p.From + "`: going back."
	case newer:
		text += " is newer than the running one, `" + p.From + "`:\n"
	default:
		text += " may be older than the running one, `" + p.From + "`. Its newest changes:\n"
	}
	for _, s := range p.Subjects {
		text += "\n- " + s
	}
	return text
}
