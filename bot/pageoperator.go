package bot

import (
	"context"
	"time"

	"matrix-tui/state"
)

// Check is a line of `matrix-tui doctor`.
type Check struct{ Word, Text string }

// Operator is the page with what owners see of the bot and its host.
type Operator struct {
	Page
	begun  time.Time
	checks func(context.Context) []Check
}

// OperatorOf returns the page of a bot that begins to run now. checks are those of the host that end soon.
func OperatorOf(b *Bot, checks func(context.Context) []Check) Operator {
	return Operator{Page: PageOf(b), begun: time.Now(), checks: checks}
}

// HostView is the operator's page.
type HostView struct {
	Version  string
	Begun    time.Time
	Standing string   // of the host, in Markdown
	Alerts   []string // that are open, in Markdown
	Checks   []Check
}

// Owns reports whether a visitor may see the operator's page: see Page.
func (o Operator) Owns(ctx context.Context, v state.Visitor) (bool, error) { return o.owns(ctx, v) }

// Host returns the operator's page, or ErrNoRoom for everybody but owners.
func (o Operator) Host(ctx context.Context, v state.Visitor) (view HostView, err error) {
	owns, err := o.owns(ctx, v)
	switch {
	case err != nil:
		return view, err
	case !owns:
		return view, ErrNoRoom
	}
	view = HostView{Version: o.bot.Version, Begun: o.begun}
	view.Standing, view.Alerts = o.bot.watch.Now(ctx)
	view.Checks = o.checks(ctx)
	return view, nil
}
