package bot

import (
	"context"
	"fmt"

	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// doMemory runs !memory.
func (r *room) doMemory(ctx context.Context, row state.Event, text string) error {
	reply, err := r.bot.Recall.Command(ctx, r.id, row.ID, task.Localpart(row.Sender), text)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.bot.log.Error().Err(err).Str("room", r.id).Msg("cannot use the memory of a room")
		return r.tell(ctx, row, "I cannot read or change this room's memory. "+r.bot.sentence(err))
	}
	if reply.Forgot {
		if err := r.bot.Store.SetSession(ctx, r.id, ""); err != nil {
			return fmt.Errorf("forget session: %w", err)
		}
	}
	return r.tell(ctx, row, reply.Text)
}

// unlearn removes what a redacted message said from the room's memory. A failure is
// logged.
func (r *room) unlearn(ctx context.Context, row state.Event) {
	if err := r.bot.Recall.Redact(ctx, r.id, row.Redaction()); err != nil && ctx.Err() == nil {
		r.bot.log.Error().Err(err).Str("room", r.id).Msg("cannot remove a redacted message from the memory of a room")
	}
}

// relearn replaces what a message said in the room's memory, if its sender has edited it.
// A failure is logged.
func (r *room) relearn(ctx context.Context, row state.Event) {
	m, _ := row.Message()
	target := m.RelatesTo.EventID
	if one, err := r.bot.Journal.Event(ctx, r.id, target); err != nil || one.Sender != row.Sender {
		return
	}
	if err := r.bot.Recall.Edit(ctx, r.id, target, task.Localpart(row.Sender), m.NewWords()); err != nil && ctx.Err() == nil {
		r.bot.log.Error().Err(err).Str("room", r.id).Msg("cannot replace an edited message in the memory of a room")
	}
}
