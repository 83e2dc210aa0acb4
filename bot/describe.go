package bot

import (
	"context"
	"strings"

	"matrix-tui/bot/matrix"
)

// description is a command as clients can offer it.
func (c command) description() matrix.Command {
	return matrix.Command{Name: c.name, Does: c.does, Text: strings.ToLower(c.text)}
}

// describe publishes the commands in a room, where the bot may: it is no harm
// where it may not.
func (r *room) describe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	direct := r.bot.isDirect(r.id)
	for _, c := range commands {
		if c.direct && !direct {
			continue
		}
		if err := r.bot.account.Describe(ctx, r.id, c.description()); err != nil {
			r.bot.log.Debug().Err(err).Str("room", r.id).Msg("describe commands")
			return
		}
	}
}
