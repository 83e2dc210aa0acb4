package command

import (
	"context"
	"errors"
	"strings"

	"matrix-tui/bot/recall"
	"matrix-tui/bot/task"
	"matrix-tui/state/sentence"
)

// memory runs !memory.
func memory(ctx context.Context, c *Call) (string, error) {
	if err := c.AwaitEnd(ctx); err != nil { // its files are part of the memory
		return "", err
	}
	verb, rest, _ := strings.Cut(strings.TrimSpace(c.text), " ")
	if strings.EqualFold(verb, "forget") && strings.TrimSpace(rest) != "" && c.Env.Recall != nil {
		return c.forget(ctx, rest)
	}
	others := c.Env.Policy.Room(c.Env.ID).MemoryFrom
	said, err := c.Env.Recall.Command(ctx, c.Env.ID, c.Row.ID, c.Env.NameOf(c.Row.Sender), c.text, others...)
	if err != nil {
		return c.noMemory(ctx, err)
	}
	return said, nil
}

// noMemory says that the memory cannot be used because of err.
func (c *Call) noMemory(ctx context.Context, err error) (string, error) {
	if ctx.Err() != nil { // the bot is stopping
		return "", ctx.Err()
	}
	c.Env.Log.Error().Err(err).Str("room", c.Env.ID).Msg("cannot use the memory of a room")
	return "I cannot read or change this room's memory. " + sentence.Log(c.Env.Log, err), nil
}

// forget forgets a text, or the entry with an ID, and the command itself, because it has the text, too.
func (c *Call) forget(ctx context.Context, what string) (string, error) {
	said, err := Forget(ctx, c.Env, what)
	if err != nil {
		return c.noMemory(ctx, err)
	}
	if err := c.Out.Tell(ctx, c.Row, said); err != nil {
		return "", err
	}
	_, err = c.Env.Journal.Removal.Redact(ctx, c.Row.Room, c.Row.ID, c.Row.Room)
	return "", err
}

// Forget makes a room forget a text, or the entry with an ID, and returns what its sender is told.
func Forget(ctx context.Context, env *task.Env, what string) (said string, err error) {
	texts, events, err := env.Recall.Meant(ctx, env.ID, what)
	if errors.Is(err, recall.ErrTooShort) {
		return "That is too short: it would be in too many entries.", nil
	}
	if err != nil {
		return "", err
	}
	out, err := env.Forget(ctx, texts, events)
	switch {
	case err != nil:
		return "", err
	case out.Entries == 0 && !out.Open:
		said = "No entry in the memory of this room contains this text."
	default:
		said = recall.Forgotten(out.Entries, out.Open)
	}
	if out.Later {
		said += " Notes in the container may still have it, because I could not clean them yet: repeat the command later."
	}
	return said, nil
}
