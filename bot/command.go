package bot

import (
	"context"
	"strings"

	"matrix-tui/bot/command"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/update"
	"matrix-tui/state"
)

// runs has the functions of the commands: they handle the message in row and finish the row.
var runs map[string]func(r *room, ctx context.Context, row state.Event, text string) error

func init() { // because the functions refer to the table
	runs = map[string]func(r *room, ctx context.Context, row state.Event, text string) error{
		"help": (*room).doHelp, "answer": (*room).doAnswer, "steer": (*room).doSteer, "stop": (*room).doStop,
		"status": (*room).doStatus, "model": (*room).doModel, "usage": (*room).doUsage, "memory": (*room).doMemory,
		"compact": (*room).doCompact, "new": (*room).doNew, "reset": (*room).doReset, "policy": (*room).doPolicy,
		"pair": (*room).doPair, "self_update": (*room).doSelfUpdate, "rooms": (*room).doRooms, "alerts": (*room).doAlerts,
	}
}

// doCommand runs a command, or explains its syntax, or says that the sender may
// not use it or not in this room.
func (r *room) doCommand(ctx context.Context, row state.Event) error {
	m, _ := row.Message()
	text := m.Words()
	c, rest, known := command.Parse(text)
	if c.Owners && r.bot.isOwner(row.Sender) {
		if said, err := r.bot.proof.Missing(ctx, row.Event, policy.ProofOwners); err != nil {
			return err
		} else if said != "" {
			return r.tell(ctx, row, said)
		}
	}
	switch {
	case update.Wanted(text):
		return r.doPlainUpdate(ctx, row)
	case !known:
		return r.tell(ctx, row, command.Unknown(text))
	case c.Owners && !r.bot.isOwner(row.Sender):
		return r.tell(ctx, row, "`!"+c.Name+"` is for my owners.")
	case c.Direct && !r.bot.roster.IsDirect(r.id):
		return r.tell(ctx, row, "`!"+c.Name+"` works in a direct chat with me.")
	case !c.Takes(rest) || runs[c.Name] == nil:
		return r.tell(ctx, row, c.Usage())
	}
	return runs[c.Name](r, ctx, row, rest)
}

// doHelp lists commands that the sender may use.
func (r *room) doHelp(ctx context.Context, row state.Event, which string) error {
	which = strings.TrimSuffix(strings.ToLower(which), "s")
	owner := r.bot.isOwner(row.Sender)
	switch {
	case which == "owner" && !owner:
		return r.tell(ctx, row, "Those commands are for my owners.")
	case which == "owner" || which == "all":
		return r.tell(ctx, row, command.Help(which))
	}
	more := "`!help all` lists the others."
	if owner {
		more = "`!help all` lists the others, `!help owner` those for owners."
	}
	return r.tell(ctx, row, r.address(r.bot.roster.MayBeAlone(r.id))+"\n\n"+command.Help("")+"\n\n"+more)
}

// describe publishes the commands in the room's state. It is optional, so a
// room that does not permit it is only logged.
func (r *room) describe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	direct := r.bot.roster.IsDirect(r.id)
	for _, c := range command.All() {
		if c.Direct && !direct {
			continue
		}
		if err := r.bot.account.Rooms.Describe(ctx, r.id, c.Description()); err != nil {
			r.bot.log.Debug().Err(err).Str("room", r.id).Msg("cannot publish the commands")
			return
		}
	}
}

// doStop runs !stop.
func (r *room) doStop(ctx context.Context, row state.Event, what string) error {
	if what != "" { // all
		return r.decider.All(ctx, row)
	}
	return r.decider.Stop(ctx, row)
}

// doSteer runs !steer.
func (r *room) doSteer(ctx context.Context, row state.Event, text string) error {
	return r.decider.Steer(ctx, row, text)
}

// doAnswer runs !answer.
func (r *room) doAnswer(ctx context.Context, row state.Event, text string) error {
	return r.decider.Answer(ctx, row, text)
}

// doAlerts runs !alerts: alerts go to this room, or are turned off.
func (r *room) doAlerts(ctx context.Context, row state.Event, text string) error {
	room, where := "", ""
	switch text {
	case "here":
		room, where = r.id, "I will tell you here when disk space, memory or the model's quota runs low. "
	case "off":
		where = "Alerts are off. Send `!alerts here` in a room to get alerts about disk, memory and the model's quota there. "
	default:
		return r.tell(ctx, row, "`!alerts here` sends alerts about the host to this room, `!alerts off` turns them off.")
	}
	defer r.bot.watch.Wake()
	if err := r.bot.watch.Tell(room); err != nil {
		return err
	}
	return r.tell(ctx, row, where+r.bot.watch.Standing(ctx))
}
