package e2ee

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// ErrAlgorithm means that the room uses an unsupported encryption algorithm, so that
// nothing can be sent to it.
var ErrAlgorithm = errors.New("the room's encryption algorithm is not supported")

// clearTypes are sent unencrypted even in encrypted rooms. A redaction is an
// instruction to servers. A reaction is only a relation, which is never encrypted
// (https://spec.matrix.org/v1.11/client-server-api/#encrypted-events); Element
// and matrix-rust-sdk send reactions unencrypted and may not read encrypted ones.
var clearTypes = []string{"m.reaction", "m.room.redaction"}

// txnKey is copied outside the encryption, so that we recognise our own echo without
// a key. The homeserver knows the transaction ID from the request anyway.
const txnKey = "io.matrix-tui.txn"

// Encrypt returns the type and content to send: unchanged for an unencrypted room,
// else m.room.encrypted and the encrypted content. Before it returns, the key was sent
// to the trusted devices of all readers, except devices without one-time keys, which
// get it with a later message. Encrypting the same content again and sending it with
// the same transaction ID creates no second message.
func (m *Machine) Encrypt(ctx context.Context, room, eventType string, content json.RawMessage) (string, json.RawMessage, error) {
	needed, err := m.IsEncrypted(ctx, room)
	if err != nil {
		return "", nil, err
	}
	if !needed || slices.Contains(clearTypes, eventType) {
		return eventType, content, nil
	}
	if m.deviceless() {
		return "", nil, fmt.Errorf("encrypt for %s: %w", room, ErrNoDevice)
	}
	if err := m.prepare(ctx, id.RoomID(room)); err != nil {
		return "", nil, fmt.Errorf("encrypt for %s: %w", room, err)
	}
	defer m.mu.Unlock()
	encrypted, err := m.encrypt(ctx, id.RoomID(room), event.NewEventType(eventType), content)
	if err != nil {
		return "", nil, fmt.Errorf("encrypt for %s: %w", room, err)
	}
	out, err := outside(encrypted, content)
	return event.EventEncrypted.Type, out, err
}

// errReaders means that it is not known who reads a room.
var errReaders = errors.New("the room's members have changed")

// prepare fetches what encrypt needs: the members of a room, their devices, and a session
// with each device; only those of some users, if any are given. When it returns nil, it has
// locked m.mu, so that nothing changes before encrypt.
func (m *Machine) prepare(ctx context.Context, room id.RoomID, only ...id.UserID) error {
	how, _, err := m.rooms.how(ctx, room)
	if err != nil {
		return err
	}
	if how == nil || how.Algorithm != id.AlgorithmMegolmV1 {
		return ErrAlgorithm
	}
	met := map[id.IdentityKey]bool{}
	for range 4 { // what is needed may change meanwhile
		if err := m.learnMembers(ctx, room); err != nil {
			return err
		}
		users, err := m.rooms.readers(ctx, room)
		if err != nil {
			return err
		}
		if err := m.refreshDevices(ctx, among(users, only)); err != nil { // may end the session
			return err
		}
		needs, err := m.lockNeeds(ctx, room, only)
		if err != nil {
			return err
		}
		needs.devices = slices.DeleteFunc(needs.devices, func(d *id.Device) bool { return met[d.IdentityKey] })
		if needs.known && len(needs.devices) == 0 {
			return nil
		}
		m.mu.Unlock()
		for _, device := range needs.devices {
			met[device.IdentityKey] = true
		}
		if err := m.meet(ctx, needs.devices); err != nil {
			if needs.key || ctx.Err() != nil || isDiskError(err) {
				return err
			}
			m.log.Warn().Err(err).Stringer("room", room).Msg("cannot create sessions with some devices") // the next attempt may
		}
	}
	m.mu.Lock()
	return nil
}

// among returns those users who are in only, or all of them if that is empty.
func among(users, only []id.UserID) []id.UserID {
	if len(only) == 0 {
		return users
	}
	return slices.DeleteFunc(users, func(user id.UserID) bool { return !slices.Contains(only, user) })
}

// needs is what a message to a room still needs.
type needs struct {
	known   bool         // the members and their devices are known, as far as homeservers answer
	key     bool         // the message gets a new key
	devices []*id.Device // get the key with the message, and have no Olm session
}

// lockNeeds is needs without m.mu, which it has locked when it returns no error.
func (m *Machine) lockNeeds(ctx context.Context, room id.RoomID, only []id.UserID) (n needs, err error) {
	m.mu.Lock()
	done := false
	defer func() {
		if !done {
			m.mu.Unlock()
		}
	}()
	n, err = m.needs(ctx, room, only)
	done = err == nil
	return n, err
}

// needs returns what a message needs, for the devices of only some users if any are given.
// m.mu is held.
func (m *Machine) needs(ctx context.Context, room id.RoomID, only []id.UserID) (n needs, err error) {
	visibility, members, err := m.rooms.visibility(ctx, room)
	if err != nil {
		return n, err
	}
	users, err := m.rooms.readers(ctx, room)
	if err != nil {
		return n, err
	}
	outdated, err := m.outdated(ctx, users)
	if err != nil {
		return n, err
	}
	n.known = members && visibility != "" && len(among(outdated, only)) == 0
	session, err := m.store.GetOutboundGroupSession(ctx, room)
	if err != nil {
		return n, err
	}
	n.key = session == nil || !session.Shared || session.Expired()
	if n.key {
		n.devices, err = m.withoutKey(ctx, "", users)
	} else if u, failed := m.due(ctx, session, users); u != nil {
		n.devices = u.first()
	} else {
		err = failed
	}
	if err != nil {
		return n, err
	}
	n.devices, err = m.without(ctx, n.devices)
	if len(only) > 0 {
		n.devices = slices.DeleteFunc(n.devices, func(d *id.Device) bool { return !slices.Contains(only, d.UserID) })
	}
	return n, err
}

// encrypt is Encrypt for an encrypted room, after prepare. It makes only requests that our
// homeserver answers by itself. m.mu is held.
func (m *Machine) encrypt(ctx context.Context, room id.RoomID, kind event.Type, content any) (*event.EncryptedEventContent, error) {
	ctx = answers{}.with(ctx)
	visibility, known, err := m.rooms.visibility(ctx, room)
	if err != nil {
		return nil, err
	}
	if !known || visibility == "" {
		return nil, errReaders
	}
	users, err := m.rooms.readers(ctx, room)
	if err != nil {
		return nil, err
	}
	if err := m.reach(ctx, room, users); err != nil {
		return nil, err
	}
	encrypted, err := m.mach.EncryptMegolmEvent(ctx, room, kind, content)
	if !errors.Is(err, crypto.ErrNoGroupSession) && !errors.Is(err, crypto.ErrSessionExpired) && !errors.Is(err, crypto.ErrSessionNotShared) {
		return encrypted, err
	}
	m.store.begin()
	err = m.mach.ShareGroupSession(ctx, room, users)
	if lost := m.store.failure(); lost != nil { // the ratchet state is not on disk: load the old one and send nothing
		err = lost
		m.reload(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("share the key: %w", err)
	}
	return m.mach.EncryptMegolmEvent(ctx, room, kind, content)
}

// outside copies the relation and the transaction ID from the plain content into the
// encrypted event, where they stay readable.
func outside(encrypted *event.EncryptedEventContent, plain json.RawMessage) (json.RawMessage, error) {
	data, err := json.Marshal(encrypted)
	if err != nil {
		return nil, fmt.Errorf("marshal encrypted content: %w", err)
	}
	var from, to map[string]json.RawMessage
	if err := json.Unmarshal(data, &to); err != nil {
		return nil, fmt.Errorf("marshal encrypted content: %w", err)
	}
	if err := json.Unmarshal(plain, &from); err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	for _, key := range []string{"m.relates_to", txnKey} {
		if value, ok := from[key]; ok {
			to[key] = value
		}
	}
	return json.Marshal(to)
}
