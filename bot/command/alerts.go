package command

import (
	"context"
	"strings"
)

// alerts runs !alerts: alerts go to this room, or are turned off.
func alerts(ctx context.Context, c *Call) (string, error) {
	room, said := "", "Alerts are off. Send `!alerts here` in a room to get alerts about disk, memory and the model's "+
		"quota there. "
	switch {
	case strings.EqualFold(c.text, "here"):
		room, said = c.Row.Room, "I will tell you here when disk space, memory or the model's quota runs low. "
	case !strings.EqualFold(c.text, "off"):
		return "`!alerts here` sends alerts about the host to this room, `!alerts off` turns them off.", nil
	}
	if err := c.Alerts.Tell(room); err != nil {
		return "", err
	}
	defer c.Alerts.Wake()
	return "", c.Out.Tell(ctx, c.Row, said+c.Alerts.Standing(ctx))
}
