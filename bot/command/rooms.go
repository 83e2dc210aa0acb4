package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// rooms runs !rooms: it lists the rooms that have a container, with "all" also their IDs and containers.
func rooms(ctx context.Context, c *Call) (string, error) {
	const most = 50
	containers := c.Env.Store.Containers.All()
	ids := slices.Sorted(maps.Keys(containers))
	said := "I work in " + strings.ToLower(text.Plural(len(ids), "room", "rooms")) + ".\n"
	for _, id := range ids[:min(len(ids), most)] {
		said += "\n- " + c.roomName(ctx, id)
		if strings.EqualFold(c.text, "all") {
			said += " " + text.Code(id) + " " + text.Code(containers[id])
		}
		running, err := c.Env.Journal.Tasks.Count(ctx, id, state.TaskRunning)
		if err != nil {
			return "", fmt.Errorf("count running tasks: %w", err)
		}
		if running > 0 {
			said += ", running a task"
		}
		if n := c.Env.Waits.Count(id); n > 0 {
			said += ", waiting for " + strings.ToLower(text.Plural(n, "answer", "answers"))
		}
	}
	if len(ids) > most {
		said += fmt.Sprintf("\n\n… and %d more: `matrix-tui rooms` has them all.", len(ids)-most)
	}
	return said, nil
}

// roomName returns a room's name; if it has none, the other person in a direct chat, or its ID.
func (c *Call) roomName(ctx context.Context, room string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if name := c.Roster.Name(ctx, room); name != "" {
		return text.Code(name)
	}
	if user := c.Roster.Direct.User(room); user != "" {
		return "Direct chat with " + c.Env.NameOf(user)
	}
	return text.Code(room)
}
