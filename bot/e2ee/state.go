package e2ee

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// stateEvent is what we read of a state event. Anything may stand in it.
type stateEvent struct {
	Type     string          `json:"type"`
	StateKey *string         `json:"state_key"`
	Content  json.RawMessage `json:"content"`
}

// content is what of a state event's content is looked at.
type stateContent struct {
	Membership string `json:"membership"`
	Visibility string `json:"history_visibility"`
}

// TakeState takes the events of a room as a /sync brings them, first those of
// `state`, then those of `timeline`; it reads m.room.encryption, m.room.member
// and m.room.history_visibility and passes over all others. gap tells that the
// timeline is limited: changes may be missing, so the members are asked for
// again before the next message. Events that were fetched for the gap are not to
// be given. When TakeState returns, all of it is on disk.
func (m *Machine) TakeState(ctx context.Context, room string, gap bool, events []json.RawMessage) error {
	var states []stateEvent
	for _, raw := range events {
		var e stateEvent
		if json.Unmarshal(raw, &e) != nil || e.StateKey == nil {
			continue
		}
		switch e.Type {
		case "m.room.encryption", "m.room.member", "m.room.history_visibility":
			states = append(states, e)
		}
	}
	if len(states) == 0 && !gap {
		return nil
	}
	m.mu.Lock() // a message that is being encrypted has its readers already
	defer m.mu.Unlock()
	err := m.changeReaders(ctx, id.RoomID(room), func(ctx context.Context) error {
		if gap {
			if err := m.rooms.forget(ctx, id.RoomID(room)); err != nil {
				return err
			}
		}
		for _, e := range states {
			if err := m.takeState(ctx, id.RoomID(room), e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("take state of %s: %w", room, err)
	}
	return nil
}

func (m *Machine) takeState(ctx context.Context, room id.RoomID, e stateEvent) error {
	var c stateContent
	readable := json.Unmarshal(e.Content, &c) == nil
	switch {
	case e.Type == "m.room.encryption" && *e.StateKey == "":
		if len(e.Content) == 0 {
			return nil
		}
		return m.rooms.setEncryption(ctx, room, e.Content)
	case e.Type == "m.room.history_visibility" && *e.StateKey == "" && readable:
		return m.rooms.setVisibility(ctx, room, c.Visibility)
	case e.Type == "m.room.member" && readable && c.Membership != "":
		if *e.StateKey == m.cfg.Client.UserID.String() { // what we know may be of an earlier stay
			if err := m.rooms.forget(ctx, room); err != nil {
				return err
			}
		}
		return m.rooms.setMember(ctx, room, *e.StateKey, c.Membership)
	}
	return nil
}

// changeReaders runs a change of what is known of a room, in one transaction.
// When it changes who may read, the key of our next messages is a new one.
func (m *Machine) changeReaders(ctx context.Context, room id.RoomID, change func(context.Context) error) error {
	return m.db.DoTxn(ctx, nil, func(ctx context.Context) error {
		before, err := m.rooms.readers(ctx, room)
		if err != nil {
			return err
		}
		if err := change(ctx); err != nil {
			return err
		}
		after, err := m.rooms.readers(ctx, room)
		if err != nil || slices.Equal(before, after) {
			return err
		}
		return m.store.RemoveOutboundGroupSession(ctx, room)
	})
}

// errOtherEvent is an answer that is no m.room.encryption: Dendrite gives some
// other event of the room to who is invited and not in it yet.
var errOtherEvent = errors.New("the homeserver answers with something else")

// IsEncrypted tells whether messages to a room must be encrypted. What is not
// known is asked of the homeserver, once; an encrypted room never becomes a
// clear one.
func (m *Machine) IsEncrypted(ctx context.Context, room string) (bool, error) {
	c, known, err := m.rooms.how(ctx, id.RoomID(room))
	if err != nil || known {
		return c != nil, err
	}
	var raw json.RawMessage
	err = m.cfg.Client.StateEvent(ctx, id.RoomID(room), event.StateEncryption, "", &raw)
	if errors.Is(err, mautrix.MNotFound) {
		err = m.rooms.setClear(ctx, id.RoomID(room))
	} else if err == nil && encryption(raw).Algorithm == "" {
		err = errOtherEvent
	} else if err == nil {
		err = m.rooms.setEncryption(ctx, id.RoomID(room), raw)
	}
	if err != nil {
		return false, fmt.Errorf("ask whether %s is encrypted: %w", room, err)
	}
	c, _, err = m.rooms.how(ctx, id.RoomID(room)) // a sync may have come in between
	return c != nil, err
}

// learnMembers asks for the members of a room unless they are known; m.mu is held.
func (m *Machine) learnMembers(ctx context.Context, room id.RoomID) error {
	visibility, known, err := m.rooms.visibility(ctx, room)
	if err != nil || known && visibility != "" {
		return err
	}
	var c stateContent
	err = m.cfg.Client.StateEvent(ctx, room, event.StateHistoryVisibility, "", &c)
	if err != nil && !errors.Is(err, mautrix.MNotFound) {
		return fmt.Errorf("ask who may read in %s: %w", room, err)
	}
	if c.Visibility == "" {
		c.Visibility = "shared" // what the specification has in its place
	}
	resp, err := m.cfg.Client.Members(ctx, room)
	if err != nil {
		return fmt.Errorf("ask for the members of %s: %w", room, err)
	}
	members := map[string]string{}
	for _, e := range resp.Chunk {
		var member stateContent
		if e.StateKey != nil && json.Unmarshal(e.Content.VeryRaw, &member) == nil {
			members[*e.StateKey] = member.Membership
		}
	}
	return m.changeReaders(ctx, room, func(ctx context.Context) error {
		if err := m.rooms.setVisibility(ctx, room, c.Visibility); err != nil {
			return err
		}
		return m.rooms.setMembers(ctx, room, members)
	})
}
