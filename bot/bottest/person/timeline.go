package person

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

const (
	keep     = 5000             // events kept per room; older ones are dropped
	longPoll = 10 * time.Second // one /sync
	slowest  = 5 * time.Minute  // and how much longer a homeserver with very many rooms may take for it
	filter   = `{"presence":{"types":[]},"room":{"timeline":{"limit":100}}}`
)

// timeline contains the events seen in one room, oldest first.
type timeline struct {
	msgs   []Msg
	known  map[string]bool
	typing []string
	read   map[string][]string // events that have had a user's read receipt
}

// add appends new events and drops the oldest above the limit.
func (t *timeline) add(msgs ...Msg) {
	for _, m := range msgs {
		if m.Event == "" || t.known[m.Event] {
			continue
		}
		t.known[m.Event] = true
		t.msgs = append(t.msgs, m)
	}
	if over := len(t.msgs) - keep; over > 0 {
		for _, m := range t.msgs[:over] {
			delete(t.known, m.Event)
		}
		t.msgs = slices.Delete(t.msgs, 0, over)
	}
}

// watch is the sync loop; it ends with its context.
func (p *Person) watch(ctx context.Context) {
	since, wait := "", 100*time.Millisecond
	for ctx.Err() == nil {
		req := mautrix.ReqSync{Since: since, FilterID: filter, Timeout: int(longPoll.Milliseconds())}
		if since == "" {
			req.Timeout = 0
		}
		poll, cancel := context.WithTimeout(ctx, longPoll+slowest)
		resp, err := p.cli.FullSyncRequest(poll, req)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				p.log.Debug().Err(err).Str("user", p.ID()).Msg("sync")
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
			wait = min(2*wait, 2*time.Second)
			continue
		}
		if err := p.takeKeys(ctx, resp, since); err != nil {
			p.log.Warn().Err(err).Str("user", p.ID()).Msg("take keys")
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
			continue
		}
		wait = 100 * time.Millisecond
		gaps := p.gaps(ctx, resp, since)
		p.take(ctx, resp, gaps)
		since = resp.NextBatch
	}
}

// gaps fetches what a limited timeline left out: from its beginning back to the newest known event.
func (p *Person) gaps(ctx context.Context, resp *mautrix.RespSync, since string) map[string][]Msg {
	gaps := map[string][]Msg{}
	for room, joined := range resp.Rooms.Join {
		if !joined.Timeline.Limited || since == "" || joined.Timeline.PrevBatch == "" {
			continue
		}
		p.mu.Lock()
		t := p.rooms[room.String()]
		p.mu.Unlock()
		if t == nil {
			continue
		}
		missed, err := p.back(ctx, room.String(), joined.Timeline.PrevBatch, func(m Msg) bool { return t.known[m.Event] })
		if err != nil {
			p.log.Warn().Err(err).Str("room", room.String()).Msg("gap in the timeline stays")
			continue
		}
		gaps[room.String()] = missed
	}
	return gaps
}

// take applies one sync response to the rooms.
func (p *Person) take(ctx context.Context, resp *mautrix.RespSync, gaps map[string][]Msg) {
	news := map[id.RoomID][]Msg{}
	for room, joined := range resp.Rooms.Join {
		for _, evt := range joined.Timeline.Events {
			m := p.read(ctx, room.String(), evt)
			p.keepUndecrypted(room.String(), evt, m)
			p.takeVerification(ctx, room.String(), evt)
			news[room] = append(news[room], m)
		}
	}
	p.reread(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.tell()
	p.synced = true
	for room, joined := range resp.Rooms.Join {
		t := p.room(room.String())
		delete(p.invites, room.String())
		t.add(gaps[room.String()]...)
		t.add(news[room]...)
		for _, evt := range joined.Ephemeral.Events {
			if evt.Type.Type == event.EphemeralEventTyping.Type {
				t.typing = typists(evt.Content.VeryRaw)
			}
			if evt.Type.Type == event.EphemeralEventReceipt.Type {
				t.noteRead(evt.Content.VeryRaw)
			}
		}
	}
	for room, left := range resp.Rooms.Leave {
		p.room(room.String()).add(decodeAll(room.String(), left.Timeline.Events)...)
		delete(p.invites, room.String())
	}
	for room, invited := range resp.Rooms.Invite {
		for _, evt := range invited.State.Events {
			if evt.Type.Type == "m.room.member" && evt.GetStateKey() == p.ID() {
				p.invites[room.String()] = evt.Sender.String()
			}
		}
	}
}

// room returns the timeline of a room, and creates it if it is new; p.mu is held.
func (p *Person) room(room string) *timeline {
	t := p.rooms[room]
	if t == nil {
		t = &timeline{known: map[string]bool{}}
		p.rooms[room] = t
	}
	return t
}

func decodeAll(room string, events []*event.Event) []Msg {
	msgs := make([]Msg, 0, len(events))
	for _, evt := range events {
		msgs = append(msgs, decode(room, evt))
	}
	return msgs
}

func typists(raw []byte) []string {
	var c struct {
		Users []string `json:"user_ids"`
	}
	_ = json.Unmarshal(raw, &c) // an invalid one has no users
	return c.Users
}

// Messages returns the events seen in the room so far, oldest first.
func (p *Person) Messages(room string) []Msg {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.rooms[room]; t != nil {
		return slices.Clone(t.msgs)
	}
	return nil
}

// Wait returns the first matching event of the room, among those already seen and then among new ones.
func (p *Person) Wait(ctx context.Context, room string, fits func(Msg) bool) (Msg, error) {
	var hit Msg
	next := 0
	var first string // the oldest event, to notice that old ones were dropped
	redone := 0
	err := p.until(ctx, func() bool {
		t := p.rooms[room]
		if t == nil || len(t.msgs) == 0 {
			return false
		}
		if t.msgs[0].Event != first || p.redone != redone {
			first, redone, next = t.msgs[0].Event, p.redone, 0
		}
		for ; next < len(t.msgs); next++ {
			if fits(t.msgs[next]) {
				hit = t.msgs[next]
				return true
			}
		}
		return false
	})
	if err != nil {
		return Msg{}, fmt.Errorf("wait in %s: %w", room, err)
	}
	return hit, nil
}

// WaitInvite returns once there is an invitation to the room.
func (p *Person) WaitInvite(ctx context.Context, room string) error {
	if err := p.until(ctx, func() bool { return p.invites[room] != "" || p.rooms[room] != nil }); err != nil {
		return fmt.Errorf("wait for the invitation to %s: %w", room, err)
	}
	return nil
}

// WaitTyping returns once the user is typing in the room, or has stopped.
func (p *Person) WaitTyping(ctx context.Context, room, user string, typing bool) error {
	err := p.until(ctx, func() bool {
		t := p.rooms[room]
		return t != nil && slices.Contains(t.typing, user) == typing
	})
	if err != nil {
		return fmt.Errorf("wait for the typing of %s: %w", user, err)
	}
	return nil
}
