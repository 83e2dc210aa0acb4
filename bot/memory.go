package bot

import (
	"context"

	"matrix-tui/bot/recall"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// doMemory runs !memory.
func (r *room) doMemory(ctx context.Context, row state.Event, text string) error {
	if err := r.waitForEnd(ctx); err != nil { // its files are part of the memory
		return err
	}
	answer, err := r.bot.Recall.Command(ctx, r.id, row.ID, text, r.bot.policy.Room(r.id).MemoryFrom...)
	if err != nil && ctx.Err() == nil {
		r.bot.log.Error().Err(err).Str("room", r.id).Msg("cannot use the memory of a room")
		answer = "I cannot read or change this room's memory. " + r.bot.sentence(err)
	}
	return r.tell(ctx, row, answer) // an error if the bot is stopping
}

// relearn replaces what a message said in the room's memory, if its sender has edited it. A command that was carried out
// stays as it was. After an upgrade, the memory is in the successor.
func (r *room) relearn(ctx context.Context, row state.Event) {
	one, err := r.bot.Journal.Event(ctx, r.id, row.Relation().EventID)
	first, _ := one.Message()
	c, _, command := parseCommand(first.Words())
	if err != nil || one.Sender != row.Sender || command && task.Spoken("!"+c.name) != "" {
		return
	}
	if words := task.EditedWords(row.Event); words != "" {
		r.bot.Recall.Edit(ctx, r.bot.Store.SuccessorOf(r.id), recall.Edit{Event: one.ID, By: r.env.NameOf(row.Sender), Text: words})
	}
}
