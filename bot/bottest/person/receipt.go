package person

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"maunium.net/go/mautrix/id"
)

// noteRead records the read receipts in an m.receipt.
func (t *timeline) noteRead(raw []byte) {
	var events map[string]struct {
		Read map[string]json.RawMessage `json:"m.read"`
	}
	_ = json.Unmarshal(raw, &events) // ignore one with another structure
	for event, by := range events {
		for user := range by.Read {
			if !slices.Contains(t.read[user], event) && len(t.read[user]) < keep {
				if t.read == nil {
					t.read = map[string][]string{}
				}
				t.read[user] = append(t.read[user], event)
			}
		}
	}
}

// WaitRead returns once a read receipt of the user is on the event or a later one.
func (p *Person) WaitRead(ctx context.Context, room, user, event string) error {
	err := p.until(ctx, func() bool {
		t := p.rooms[room]
		if t == nil {
			return false
		}
		from := slices.IndexFunc(t.msgs, func(m Msg) bool { return m.Event == event })
		return from >= 0 && slices.ContainsFunc(t.msgs[from:],
			func(m Msg) bool { return slices.Contains(t.read[user], m.Event) })
	})
	if err != nil {
		return fmt.Errorf("wait until %s has read %s: %w", user, event, err)
	}
	return nil
}

// MarkedRead reports whether a read receipt of the user has been seen on exactly this event.
func (p *Person) MarkedRead(room, user, event string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.rooms[room]
	return t != nil && slices.Contains(t.read[user], event)
}

// Type shows others for half a minute that the person is typing.
func (p *Person) Type(ctx context.Context, room string) error {
	if _, err := p.cli.UserTyping(ctx, id.RoomID(room), true, 30*time.Second); err != nil {
		return fmt.Errorf("type: %w", err)
	}
	return nil
}
