package command

import (
	"context"
	"strings"
	"time"

	"matrix-tui/bot/matrix"
)

// publishTime is the timeout for publishing all commands.
const publishTime = 30 * time.Second

// Publish describes the commands in a room's state, for clients that offer them. It is optional: a room that does not
// permit it goes without.
func Publish(ctx context.Context, account *matrix.Account, room string, direct bool) error {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	for _, c := range all {
		if c.Direct && !direct {
			continue
		}
		if err := account.Rooms.Describe(ctx, room, c.description()); err != nil {
			return err
		}
	}
	return nil
}

func (c Command) description() matrix.Command {
	return matrix.Command{Name: c.Name, Does: c.Does, Text: strings.ToLower(c.Text)}
}
