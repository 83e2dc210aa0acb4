package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"matrix-tui/bot/outbox"
	"matrix-tui/bot/update"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// plainUpdate answers a message that asks for an update in plain words with the command to use.
func (c *Call) plainUpdate() string {
	if !c.byOwner() {
		return "Only my owners can update me."
	}
	if c.Updates == nil {
		return cmp.Or(c.NoUpdates, update.NotInstalled)
	}
	return "To update me, send `!self_update`: it shows what is new and installs the newest release. " +
		"`!self_update REF` takes a tag, a branch or a commit."
}

// selfUpdate runs !self_update. It finishes the message before the work starts, so that no restart can begin the update
// again.
func selfUpdate(ctx context.Context, c *Call) (string, error) {
	if c.Updates == nil {
		return cmp.Or(c.NoUpdates, update.NotInstalled), nil
	}
	o, ok := update.Parse(c.text)
	if !ok {
		return "`!self_update` takes one tag, branch or commit, or nothing for the newest.", nil
	}
	o.Room, o.Event = c.Row.Room, c.Row.ID
	known, err := c.Updates.Begin(o)
	if err != nil {
		return sentence.Log(c.Env.Log, err), nil
	}
	if known && c.updating.Load() != o.Event { // begun before a restart, which reports the outcome
		return "", c.Env.Journal.Events.Finish(ctx, c.Row.Room, c.Row.ID)
	}
	c.updating.Store(o.Event)
	if err := c.Out.Tell(ctx, c.Row, "🔄 Checking for updates …"); err != nil {
		return "", err
	}
	c.Env.Group.Start(func() { c.update(ctx, o) })
	return "", nil
}

// update carries out an order from a room and shows the progress by editing the answer to it.
func (c *Call) update(ctx context.Context, o update.Order) {
	key, n := state.KeyOf(c.Row.Room, c.Row.ID), 0
	queue := func(m state.Message) {
		if err := c.Out.Queue(ctx, m); err != nil && ctx.Err() == nil {
			c.Env.Log.Warn().Err(err).Str("room", c.Row.Room).Msg("cannot report the update")
		}
	}
	say := func(said string) {
		n++
		m := c.Out.Notice(state.KindUpdate, fmt.Sprintf("%s-u%d", key, n), "🔄 "+said)
		m.Relation, m.About = state.Edit, outbox.ToldTxn(c.Row)
		queue(m)
	}
	err := c.Env.Group.Guard(c.Row.Room, "updating", func() error { return c.Bot.SelfUpdate(ctx, o, say) })
	if err == nil || ctx.Err() != nil {
		return
	}
	said := "No update available: I am already running the newest release."
	if !errors.Is(err, update.ErrNothingNew) {
		said = "⚠️ The update failed; I keep running the current release. " + sentence.Log(c.Env.Log, err) +
			update.LogLines(err)
	}
	queue(c.Out.Answer(c.Row, state.KindUpdate, key+"-updated", said))
}

// alerts runs !alerts: alerts go to this room, or are turned off.
func alerts(ctx context.Context, c *Call) (string, error) {
	room, said := "", "Alerts are off. Send `!alerts here` in a room to get alerts about disk, memory and the model's "+
		"quota there. "
	switch {
	case strings.EqualFold(c.text, "here"):
		room, said = c.Row.Room, "I will tell you here when disk space, memory or the model's quota runs low. "
	case !strings.EqualFold(c.text, "off"):
		return "`!alerts here` sends alerts about the host to this room, `!alerts off` turns them off.", nil
	}
	if err := c.Alerts.Tell(room); err != nil {
		return "", err
	}
	defer c.Alerts.Wake()
	return "", c.Out.Tell(ctx, c.Row, said+c.Alerts.Standing(ctx))
}
