package bot

import (
	"context"
	"errors"
	"fmt"

	"matrix-tui/bot/command"
	"matrix-tui/bot/recall"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// relearn puts what a message says now in the place of what it said, wherever the room has it, if its sender has edited
// it. A command that was carried out stays as it was. After an upgrade, the memory is in the successor.
func (r *room) relearn(ctx context.Context, row state.Event) error {
	one, err := r.bot.Journal.Events.Get(ctx, r.id, row.Relation().EventID)
	first, _ := one.Message()
	c, _, done := command.Parse(first.Words())
	if err != nil || one.Sender != row.Sender || done && task.Spoken("!"+c.Name) != "" {
		return nil
	}
	words := task.EditedWords(row.Event)
	if words == "" {
		return nil
	}
	env := r.bot.room(r.bot.Store.SuccessorOf(r.id)).env
	return env.Rewrite(ctx, recall.Edit{Event: one.ID, By: r.env.NameOf(row.Sender), Text: words})
}

// finish replaces what the message of an edit said, once the edit is decided. If that fails, the next start tries
// again.
func (r *room) finish(ctx context.Context, row state.Event, edit state.OpenEdit) {
	err := r.relearn(ctx, row)
	if err == nil {
		err = r.bot.Journal.Memory.EndEdit(ctx, edit)
	}
	if err != nil && ctx.Err() == nil {
		r.bot.log.Error().Err(err).Str("room", r.id).Msg("cannot replace what an edited message said")
	}
}

// finishEdits finishes the edits that a crash has cut off. One that is not decided yet is finished with its room's
// events.
func finishEdits(ctx context.Context, b *Bot) error {
	edits, err := b.Journal.Memory.OpenEdits(ctx)
	for _, edit := range edits {
		row, err := b.Journal.Events.Get(ctx, edit.Room, edit.Event)
		switch {
		case errors.Is(err, state.ErrNotFound): // the room was removed
			err = b.Journal.Memory.EndEdit(ctx, edit)
		case err == nil && row.Status != state.Pending:
			b.room(edit.Room).finish(ctx, row, edit)
		}
		if err != nil {
			return fmt.Errorf("finish edit: %w", err)
		}
	}
	return err
}
