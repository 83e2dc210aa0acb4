package e2ee

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/matrix/decode"
	wire "matrix-tui/state/event"
)

// room creates an encrypted room with all of them as members; they have synced it.
func (p *peer) room(others ...*peer) string {
	p.t.Helper()
	ctx := p.t.Context()
	req := &mautrix.ReqCreateRoom{Preset: "private_chat", InitialState: []*event.Event{{
		Type:    event.StateEncryption,
		Content: event.Content{Parsed: &event.EncryptionEventContent{Algorithm: id.AlgorithmMegolmV1}},
	}}}
	resp, err := p.cli.CreateRoom(ctx, req)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, other := range others {
		p.bring(resp.RoomID.String(), other)
	}
	p.until("the room", func() bool { return p.sees(resp.RoomID.String()) })
	return resp.RoomID.String()
}

// bring invites another user, who joins.
func (p *peer) bring(room string, other *peer) {
	p.t.Helper()
	ctx := p.t.Context()
	if _, err := p.cli.InviteUser(ctx, id.RoomID(room), &mautrix.ReqInviteUser{UserID: other.cli.UserID}); err != nil {
		p.t.Fatal(err)
	}
	if _, err := other.cli.JoinRoomByID(ctx, id.RoomID(room)); err != nil {
		p.t.Fatal(err)
	}
	other.until("the room", func() bool { return other.sees(room) })
	joined := `"state_key":"` + other.cli.UserID.String() + `"`
	p.until("the one who joins", func() bool {
		for _, s := range p.seen {
			if s.Room == room && strings.Contains(string(s.Raw), joined) && strings.Contains(string(s.Raw), `"membership":"join"`) {
				return true
			}
		}
		return false
	})
}

func (p *peer) sees(room string) bool {
	for _, s := range p.seen {
		if s.Room == room {
			return true
		}
	}
	return false
}

func text(body string) json.RawMessage {
	data, _ := json.Marshal(map[string]any{"msgtype": "m.text", "body": body, "m.mentions": map[string]any{}})
	return data
}

// say encrypts and sends a text; it returns the event ID.
func (p *peer) say(room, body string) string {
	p.t.Helper()
	return p.send(room, "m.room.message", text(body))
}

func (p *peer) send(room, kind string, content json.RawMessage) string {
	p.t.Helper()
	kind, content, err := p.m.Encrypt(p.t.Context(), room, kind, content)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.put(room, kind, content)
}

// put sends an event unchanged.
func (p *peer) put(room, kind string, content json.RawMessage) string {
	p.t.Helper()
	resp, err := p.cli.SendMessageEvent(p.t.Context(), id.RoomID(room), event.NewEventType(kind), content)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.EventID.String()
}

// event waits for an event and returns it as received.
func (p *peer) event(room, id string) (found json.RawMessage) {
	p.t.Helper()
	p.until("event "+id, func() bool {
		found = p.find(room, id)
		return found != nil
	})
	return found
}

// find returns an event that was received, or nil.
func (p *peer) find(room, id string) json.RawMessage {
	for _, s := range p.seen {
		var e struct {
			ID string `json:"event_id"`
		}
		if s.Room == room && json.Unmarshal(s.Raw, &e) == nil && e.ID == id {
			return s.Raw
		}
	}
	return nil
}

// reads waits for an event, decrypts it and returns its body.
func (p *peer) reads(room, id string) string {
	p.t.Helper()
	return body(p.t, p.plain(room, id))
}

// plain waits for an event and decrypts it.
func (p *peer) plain(room, id string) wire.Event {
	p.t.Helper()
	raw := p.event(room, id)
	var plain wire.Event
	var err error
	p.until("the key of event "+id, func() bool { // it may arrive in a later sync
		var noKey *NoKeyError
		plain, err = decrypted(p.m, p.t.Context(), room, raw)
		return !errors.As(err, &noKey)
	})
	if err != nil {
		p.t.Fatalf("%s reads: %v", p.cli.UserID, err)
	}
	return plain
}

func body(t *testing.T, plain wire.Event) string {
	t.Helper()
	m, ok := plain.Message()
	if !ok || !plain.IsDecrypted() {
		t.Errorf("not a decrypted message: %+v", plain)
	}
	return m.Body
}

// decrypted decrypts a received event.
func decrypted(m *Machine, ctx context.Context, room string, raw json.RawMessage) (wire.Event, error) {
	e, err := decode.FromServer(raw)
	if err != nil {
		e = wire.Event{Raw: raw}
	}
	e.Room = room
	return m.Decrypt(ctx, e)
}
