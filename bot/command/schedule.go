package command

import (
	"context"

	"matrix-tui/bot/outbox"
	"matrix-tui/bot/schedule"
	"matrix-tui/state"
)

// scheduled runs !schedule.
func scheduled(ctx context.Context, c *Call) (string, error) {
	book := schedule.Book{Env: c.Env, User: c.Row.Sender, Event: c.Row.ID, Now: c.Env.Clock.Shown(),
		Barred: schedule.Barred(c.Env.Rules().Schedule, c.byOwner()), Closes: []string{c.Row.ID},
		Tell: func(said string) []state.Message {
			return []state.Message{c.Out.Answer(c.Row, state.KindReply, outbox.ToldTxn(c.Row), said)}
		}}
	answer, err := book.Command(ctx, c.text)
	c.Out.Wake()
	c.Bot.Scheduled()
	c.Turn.Wake()
	return answer, err
}
