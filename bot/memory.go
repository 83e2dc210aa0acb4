package bot

import (
	"context"

	"matrix-tui/bot/command"
	"matrix-tui/bot/recall"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// relearn puts what a message says now in the place of what it said, wherever the room has it, if its sender has edited
// it. A command that was carried out stays as it was. After an upgrade, the memory is in the successor.
func (r *room) relearn(ctx context.Context, row state.Event) {
	one, err := r.bot.Journal.Events.Get(ctx, r.id, row.Relation().EventID)
	first, _ := one.Message()
	c, _, done := command.Parse(first.Words())
	if err != nil || one.Sender != row.Sender || done && task.Spoken("!"+c.Name) != "" {
		return
	}
	words := task.EditedWords(row.Event)
	if words == "" {
		return
	}
	env := r.bot.room(r.bot.Store.SuccessorOf(r.id)).env
	if err := env.Rewrite(ctx, recall.Edit{Event: one.ID, By: r.env.NameOf(row.Sender), Text: words}); err != nil &&
		ctx.Err() == nil {
		r.bot.log.Error().Err(err).Str("room", r.id).Msg("cannot replace what an edited message said")
	}
}
