package bot

import (
	"context"

	"matrix-tui/bot/command"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// doCommand carries out a command.
func (r *room) doCommand(ctx context.Context, row state.Event) error {
	return command.Do(ctx, &command.Call{
		Deps: r.bot.commands, Orders: r.decider.Orders, Room: r.decider, Row: row,
		Address: r.members.Address(r.bot.roster.MayBeAlone(r.id)),
	})
}

// commandBot is the bot as commands see it. It implements [command.Bot].
type commandBot struct{ *Bot }

// Scheduled implements [command.Bot].
func (b commandBot) Scheduled() { b.clockwork.Changed() }

// Admit is part of [command.Bot].
func (b commandBot) Admit(ctx context.Context, code, user string, proof event.Encryption) (string, error) {
	return PageOf(b.Bot).Admit(ctx, code, user, proof)
}

// SignOut is part of [command.Bot].
func (b commandBot) SignOut(ctx context.Context, user string) error {
	return PageOf(b.Bot).LeaveAll(ctx, user)
}

// Greet is part of [command.Bot].
func (b commandBot) Greet(ctx context.Context, m state.Message) error {
	return b.room(m.Room).outbox.Queue(ctx, m)
}

// describe publishes the commands in the room's state.
func (r *room) describe(ctx context.Context) {
	if err := command.Publish(ctx, r.bot.account, r.id, r.bot.roster.IsDirect(r.id)); err != nil {
		r.bot.log.Debug().Err(err).Str("room", r.id).Msg("cannot publish the commands")
	}
}
