package person

import (
	"context"
	"fmt"

	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// SetPower sets one of the room's power levels and keeps the others. The path leads to it in the content of the event:
// "events_default", or "users" and a user ID.
func (p *Person) SetPower(ctx context.Context, room string, path []string, level int) error {
	content := map[string]any{}
	if err := p.cli.StateEvent(ctx, id.RoomID(room), event.StatePowerLevels, "", &content); err != nil {
		return fmt.Errorf("read power levels of %s: %w", room, err)
	}
	at := content
	for _, key := range path[:len(path)-1] {
		next, ok := at[key].(map[string]any)
		if !ok {
			next = map[string]any{}
		}
		at[key], at = next, next
	}
	at[path[len(path)-1]] = level
	return p.SetState(ctx, room, event.StatePowerLevels.Type, content)
}

// SetState sets a state event of the room whose key is empty.
func (p *Person) SetState(ctx context.Context, room, kind string, content any) error {
	of := event.Type{Type: kind, Class: event.StateEventType}
	if _, err := p.cli.SendStateEvent(ctx, id.RoomID(room), of, "", content); err != nil {
		return fmt.Errorf("set %s of %s: %w", kind, room, err)
	}
	return nil
}
