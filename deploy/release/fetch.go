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
	Back     bool // to is older
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
	say(plan.news() + "\n\nBuilding it next to the running one.")
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

// wanted returns an error if this release must not be installed.
func (u *Updater) wanted(o Order, plan Plan) error {
	if plan.To == u.Running || plan.Back && o.Ref == "" {
		return ErrNothingNew
	}
	r, err := u.Base.Read()
	if err != nil {
		return err
	}
	if r.Failures[plan.To] >= 2 && !o.Again {
		return sentence.Newf(errors.New("failed twice"), "Release `%s` has failed twice, so I will not retry it on my own. Send `!self_update %s again` to force it.", plan.To, plan.To)
	}
	return nil
}

// fullName returns the running release's commit, in full if it is known.
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

// news describes the difference between the releases.
func (p Plan) news() string {
	text := "Release `" + p.To + "`"
	if p.Version != "" && p.Version != "." {
		text += " (" + p.Version + ")"
	}
	if p.Back {
		return text + " is **older** than the running one, `" + p.From + "`: going back."
	}
	text += " is newer than the running one, `" + p.From + "`:\n"
	for _, s := range p.Subjects {
		text += "\n- " + s
	}
	return text
}
