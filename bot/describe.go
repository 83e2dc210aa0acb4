package bot

import (
	"context"
	"strings"

	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/event/cmdschema"
)

// description is a command as MSC4391 describes it to clients, which can offer
// it then.
func (c command) description() *cmdschema.EventContent {
	content := &cmdschema.EventContent{Command: c.name, Description: event.MakeExtensibleText(c.does)}
	if c.text != "" {
		content.TailParam = "text"
		content.Parameters = []*cmdschema.Parameter{{
			Key:         "text",
			Schema:      cmdschema.PrimitiveTypeString.Schema(),
			Description: event.MakeExtensibleText(strings.ToLower(c.text)),
		}}
	}
	return content
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
		content := c.description()
		_, err := r.bot.client.SendStateEvent(ctx, roomID(r.id), event.StateMSC4391BotCommand, content.StateKey(r.bot.client.UserID), content)
		if err != nil {
			r.bot.log.Debug().Err(err).Str("room", r.id).Msg("describe commands")
			return
		}
	}
}
