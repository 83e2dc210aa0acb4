package e2ee

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/matrix/decode"
	wire "matrix-tui/state/event"
)

// members keeps the members of rooms, and how rooms are encrypted, up to date.
type members struct {
	*core
	changes map[id.RoomID]int // how often a room's state has changed since the start; guarded by mu
}

// ProcessState processes the events of a room in a /sync, first those of `state`, then
// those of `timeline`. It uses m.room.encryption, m.room.member and
// m.room.history_visibility and ignores all others. gap says that the timeline is
// limited: changes may be missing, so the next message fetches the members again. Do
// not pass events that were fetched to fill the gap. When it returns without an error,
// everything is on disk.
func (m *members) ProcessState(ctx context.Context, room string, gap bool, events []wire.Event) error {
	var states []wire.Event
	for _, e := range events {
		if e.StateKey == nil {
			continue
		}
		switch e.Type {
		case wire.TypeEncryption, wire.TypeMember, wire.TypeVisibility:
			states = append(states, e)
		}
	}
	if len(states) == 0 && !gap {
		return nil
	}
	m.mu.Lock() // never change the readers of a message that is being encrypted
	defer m.mu.Unlock()
	m.changes[id.RoomID(room)]++
	err := m.changeReaders(ctx, id.RoomID(room), func(ctx context.Context) error {
		if gap {
			if err := m.rooms.forget(ctx, id.RoomID(room)); err != nil {
				return err
			}
		}
		for _, e := range states {
			if err := m.processState(ctx, id.RoomID(room), e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("process state of %s: %w", room, err)
	}
	return nil
}

func (m *members) processState(ctx context.Context, room id.RoomID, e wire.Event) error {
	user, member, ok := e.Member()
	switch {
	case e.IsState(wire.TypeEncryption):
		if len(e.Content) == 0 {
			return nil
		}
		return m.rooms.setEncryption(ctx, room, e.Content)
	case e.IsState(wire.TypeVisibility):
		return m.rooms.setVisibility(ctx, room, e.Body.Visibility)
	case ok && member.Membership != "":
		if user == m.cfg.Client.UserID.String() { // the stored members may be from an earlier membership
			if err := m.rooms.forget(ctx, room); err != nil {
				return err
			}
		}
		return m.rooms.setMember(ctx, room, user, member.Membership)
	}
	return nil
}

// changeReaders runs change in one transaction. If that changes who can read the room,
// our next message uses a new key.
func (m *members) changeReaders(ctx context.Context, room id.RoomID, change func(context.Context) error) error {
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

// errOtherEvent means that the response is not an m.room.encryption event. Dendrite
// returns another event of the room to users who are invited but have not joined.
var errOtherEvent = errors.New("the homeserver returned another event")

// IsEncrypted reports whether messages to a room must be encrypted. It asks the
// homeserver once if that is not known. Encryption cannot be disabled.
func (m *members) IsEncrypted(ctx context.Context, room string) (bool, error) {
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
		return false, fmt.Errorf("look up whether %s is encrypted: %w", room, err)
	}
	c, _, err = m.rooms.how(ctx, id.RoomID(room)) // a sync may have changed it meanwhile
	return c != nil, err
}

// KnownEncrypted reports whether a room is known to be encrypted, without asking the
// homeserver.
func (m *members) KnownEncrypted(ctx context.Context, room string) (bool, error) {
	return m.rooms.IsEncrypted(ctx, id.RoomID(room))
}

// learnMembers fetches a room's members and history visibility unless they are known.
// m.mu is not held. Stop ends it.
func (m *members) learnMembers(ctx context.Context, room id.RoomID) error {
	visibility, known, err := m.rooms.visibility(ctx, room)
	if err != nil || known && visibility != "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, membersTime)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	for range 3 {
		if stored, err := m.learn(ctx, room); stored || err != nil {
			return err
		}
	}
	return fmt.Errorf("fetch members of %s: %w", room, errReaders)
}

// membersTime bounds the requests for a room's members: our homeserver may have to fetch
// the state of a room that it has just joined.
const membersTime = time.Minute

// learn fetches and stores a room's members and history visibility, unless a sync has
// changed them meanwhile.
func (m *members) learn(ctx context.Context, room id.RoomID) (stored bool, err error) {
	m.mu.Lock()
	before, cli := m.changes[room], m.mach.Client
	m.mu.Unlock()
	visibility, users, err := fetchMembers(ctx, cli, room)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil || m.changes[room] != before {
		return false, err
	}
	return true, m.changeReaders(ctx, room, func(ctx context.Context) error {
		if err := m.rooms.setVisibility(ctx, room, visibility); err != nil {
			return err
		}
		return m.rooms.setMembers(ctx, room, users)
	})
}

// fetchMembers fetches a room's history visibility and the memberships of its users.
func fetchMembers(ctx context.Context, cli *mautrix.Client,
	room id.RoomID) (visibility string, members map[string]string, err error) {
	var raw json.RawMessage
	err = cli.StateEvent(ctx, room, event.StateHistoryVisibility, "", &raw)
	if err != nil && !errors.Is(err, mautrix.MNotFound) {
		return "", nil, fmt.Errorf("fetch history visibility of %s: %w", room, err)
	}
	visibility = "shared" // the specification's default
	if e, err := decode.State(wire.TypeVisibility, raw); err == nil && e.Body.Visibility != "" {
		visibility = e.Body.Visibility
	}
	var resp struct {
		Chunk []json.RawMessage `json:"chunk"`
	}
	_, err = cli.MakeRequest(ctx, http.MethodGet, cli.BuildClientURL("v3", "rooms", room, "members"), nil, &resp)
	if err != nil {
		return "", nil, fmt.Errorf("fetch members of %s: %w", room, err)
	}
	members = map[string]string{}
	for _, raw := range resp.Chunk {
		e, err := decode.FromServer(raw)
		if user, member, ok := e.Member(); err == nil && ok {
			members[user] = member.Membership
		}
	}
	return visibility, members, nil
}
