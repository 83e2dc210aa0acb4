package command

import (
	"context"
	"strings"
	"time"

	"matrix-tui/bot/matrix"
)

// help runs !help: it lists commands that the sender may use.
func help(_ context.Context, c *Call) (string, error) {
	which := strings.TrimSuffix(strings.ToLower(c.text), "s")
	switch {
	case which == "owner" && !c.byOwner():
		return "Those commands are for my owners.", nil
	case which != "":
		return list(which), nil
	}
	more := "`!help all` lists the others."
	if c.byOwner() {
		more = "`!help all` lists the others, `!help owner` those for owners."
	}
	return c.Address + "\n\n" + list("") + "\n\n" + more, nil
}

// list lists everybody's commands ("all"), those for owners ("owner"), or the most useful ones ("").
func list(which string) string {
	var lines []string
	for _, c := range all {
		does := c.Does
		if c.Direct {
			does += " (in a direct chat)"
		}
		switch {
		case which == "" && c.Brief != "":
			lines = append(lines, "- `!"+c.Name+"` "+c.Brief)
		case which == "all" && !c.Owners, which == "owner" && c.Owners:
			lines = append(lines, "- `"+strings.TrimSpace("!"+c.Name+" "+c.Text)+"` "+does)
		}
	}
	return strings.Join(lines, "\n")
}

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
