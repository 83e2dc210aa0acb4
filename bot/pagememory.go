package bot

import (
	"context"
	"strings"

	"matrix-tui/bot/command"
	"matrix-tui/state"
)

// Memory returns what a room remembers, or what it finds about a text, in Markdown, as !memory does. The error is
// ErrNoRoom for a room that the visitor may not see.
func (p Page) Memory(ctx context.Context, v state.Visitor, room, about string) (said string, err error) {
	words := ""
	if about = strings.TrimSpace(about); about != "" {
		words = "search " + about
	}
	return p.remember(ctx, v, room, words)
}

// Remember adds a note to a room's memory, and Forget removes what has a text. They return what the visitor is told.
func (p Page) Remember(ctx context.Context, v state.Visitor, room, text string) (said string, err error) {
	return p.remember(ctx, v, room, "add "+text)
}

// Forget removes what has a text from a room's memory: see Remember.
func (p Page) Forget(ctx context.Context, v state.Visitor, room, text string) (said string, err error) {
	r, err := p.remembering(ctx, v, room)
	switch {
	case err != nil:
		return "", err
	case r.env.Recall == nil:
		return r.env.Recall.Command(ctx, room, "", "", "")
	case !p.bot.forgetting.TryLock():
		return "I am forgetting something else. Try again in a moment.", nil
	}
	defer p.bot.forgetting.Unlock()
	return command.Forget(ctx, r.env, text)
}

// remember does what !memory does with these words.
func (p Page) remember(ctx context.Context, v state.Visitor, room, words string) (said string, err error) {
	r, err := p.remembering(ctx, v, room)
	if err != nil {
		return "", err
	}
	return r.env.Recall.Command(ctx, room, "", p.bot.tasks.NameOf(v.User), words, r.env.Policy.Room(room).MemoryFrom...)
}

// remembering returns a room whose memory the visitor may see, when its files belong to its memory.
func (p Page) remembering(ctx context.Context, v state.Visitor, id string) (*room, error) {
	r, err := p.open(ctx, v, id)
	if err != nil {
		return nil, err
	}
	return r, r.turn.AwaitEnd(ctx)
}
