package release

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"matrix-tui/bot/update"
	"matrix-tui/state/sentence"
)

// Plan is an update that is ready for the switch.
type Plan struct {
	To       string // commit, 12 digits
	Version  string
	Subjects []string
	Age      age // of To
}

// age says how a release relates to the running one: it is newer if it contains all its commits.
type age string

const (
	newer   age = "is newer"
	older   age = "is"
	unknown age = "may be"
)

// fetch brings the requested release to this host, under its name.
func (u *Updater) fetch(ctx context.Context, o update.Order, log io.Writer, say func(string)) (plan Plan, err error) {
	var k *key
	if u.Key != "" {
		if k, err = openKey(ctx, u.Key); err != nil {
			return plan, err
		}
		defer k.close()
	}
	have, _ := u.Base.Info(u.Running) // without it, the age of the other is unknown
	if address, ok := strings.CutPrefix(u.Source, archivePrefix); ok {
		return u.fetchArchive(ctx, shelf(address), o, k, have, say)
	}
	m, err := openMirror(ctx, u.Base, u.Source)
	if err != nil {
		return plan, err
	}
	name, commit, err := m.find(ctx, o.Ref, k != nil)
	if err != nil {
		return plan, err
	}
	plan.To, plan.Version, plan.Age = Short(commit), filepath.Base(name), m.age(ctx, commit, have.Commit)
	if err = u.wanted(o, plan); err == nil && k != nil {
		err = k.checkGit(ctx, m, name, commit)
	}
	if err != nil {
		return plan, err
	}
	info, err := m.describe(ctx, name, commit)
	if err != nil {
		return plan, err
	}
	plan.Subjects = info.since(u.Running)
	say(plan.news(u.Running) + "\n\nBuilding it next to the running one.")
	return plan, build(ctx, u.Base, m, info, log)
}

func (u *Updater) fetchArchive(ctx context.Context, s shelf, o update.Order, k *key, have Info,
	say func(string)) (plan Plan, err error) {
	if plan.To, err = s.find(ctx, o.Ref); err == nil {
		err = u.mayInstall(o, plan.To)
	}
	if err != nil {
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
	plan.Version, plan.Subjects, plan.Age = info.Version, info.since(u.Running), unknown
	if info.knows(u.Running) {
		plan.Age = newer
	} else if have.knows(plan.To) {
		plan.Age = older
	}
	if err = u.wanted(o, plan); err == nil {
		say(plan.news(u.Running))
	}
	return plan, err
}

// wanted returns an error if this release must not be installed. A source that serves an older release under a newer
// name must not bring back its defects, so going back is a request of its own.
func (u *Updater) wanted(o update.Order, plan Plan) error {
	if o.Back || plan.Age == newer || plan.Age == unknown && u.Key == "" {
		return u.mayInstall(o, plan.To)
	}
	if plan.Age == older && o.Ref == "" {
		return update.ErrNothingNew
	}
	return sentence.Newf(errors.New("not a newer release"),
		"Release `%s` %s older than the running one, `%s`. To install it all the same, "+
			"send `!self_update %[1]s back`, or run `matrix-tui self-update -back %[1]s`.", plan.To, plan.Age, u.Running)
}

// mayInstall returns an error if the release is the running one or has failed twice.
func (u *Updater) mayInstall(o update.Order, to string) error {
	if to == u.Running {
		return update.ErrNothingNew
	}
	r, err := u.Base.Read()
	if err == nil && r.Failures[to] >= 2 && !o.Again {
		err = sentence.Newf(errors.New("failed twice"),
			"Release `%s` has failed twice, so I will not retry it on my own. Send `!self_update %s again` to force it.", to, to)
	}
	return err
}

// news describes the difference to the running release.
func (p Plan) news(running string) string {
	text := "Release `" + p.To + "`"
	if p.Version != "" && p.Version != "." {
		text += " (" + p.Version + ")"
	}
	switch p.Age {
	case older:
		return text + " is **older** than the running one, `" + running + "`: going back."
	case unknown:
		text += " may be older than the running one, `" + running + "`. Its newest changes:\n"
	default:
		text += " is newer than the running one, `" + running + "`:\n"
	}
	return text + "\n- " + strings.Join(p.Subjects, "\n- ")
}
