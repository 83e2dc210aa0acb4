package bot

import (
	"context"
	"errors"
	"strings"

	"matrix-tui/bot/command"
	"matrix-tui/bot/recall"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// doMemory runs !memory.
func (r *room) doMemory(ctx context.Context, row state.Event, text string) error {
	if err := r.turn.AwaitEnd(ctx); err != nil { // its files are part of the memory
		return err
	}
	verb, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	forgets := strings.EqualFold(verb, "forget") && strings.TrimSpace(rest) != "" && r.bot.Recall != nil
	answer, err := "", error(nil)
	if forgets {
		answer, err = r.forgetText(ctx, rest)
	} else {
		answer, err = r.bot.Recall.Command(ctx, r.id, row.ID, r.env.NameOf(row.Sender), text, r.bot.policy.Room(r.id).MemoryFrom...)
	}
	if err != nil && ctx.Err() == nil {
		r.bot.log.Error().Err(err).Str("room", r.id).Msg("cannot use the memory of a room")
		answer = "I cannot read or change this room's memory. " + r.bot.sentence(err)
	}
	if told := r.tell(ctx, row, answer); told != nil || !forgets || err != nil {
		return told // an error if the bot is stopping
	}
	_, err = r.bot.Journal.Removal.Redact(ctx, r.id, row.ID, r.id) // the command has the text, too
	return err
}

// forgetText forgets a text, or the entry with an ID.
func (r *room) forgetText(ctx context.Context, what string) (answer string, err error) {
	texts, events, err := r.bot.Recall.Meant(ctx, r.id, what)
	if errors.Is(err, recall.ErrTooShort) {
		return "That is too short: it would be in too many entries.", nil
	}
	if err != nil {
		return "", err
	}
	out, err := r.env.Forget(ctx, texts, events)
	switch {
	case err != nil:
		return "", err
	case out.Entries == 0 && !out.Open:
		answer = "No entry in the memory of this room contains this text."
	default:
		answer = recall.Forgotten(out.Entries, out.Open)
	}
	if out.Later {
		answer += " Notes in the container may still have it, because I could not clean them yet: repeat the command later."
	}
	return answer, nil
}

// relearn puts what a message says now in the place of what it said, wherever the room has it, if its sender has edited it.
// A command that was carried out stays as it was. After an upgrade, the memory is in the successor.
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
	if err := env.Rewrite(ctx, recall.Edit{Event: one.ID, By: r.env.NameOf(row.Sender), Text: words}); err != nil && ctx.Err() == nil {
		r.bot.log.Error().Err(err).Str("room", r.id).Msg("cannot replace what an edited message said")
	}
}
