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
	if err := m.prepare(ctx, id.RoomID(room)); err != nil { // what comes in between is for the next message
		return "", nil, fmt.Errorf("encrypt for %s: %w", room, err)
	}
	m.mu.Lock()
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
// with each. m.mu is not held.
func (m *Machine) prepare(ctx context.Context, room id.RoomID) error {
	how, _, err := m.rooms.how(ctx, room)
	if err != nil {
		return err
	}
	if how == nil || how.Algorithm != id.AlgorithmMegolmV1 {
		return ErrAlgorithm
	}
	for range 3 { // the members may change meanwhile
		if err := m.learnMembers(ctx, room); err != nil {
			return err
		}
		users, err := m.rooms.readers(ctx, room)
		if err != nil {
			return err
		}
		if err := m.refreshDevices(ctx, users); err != nil { // may end the session
			return err
		}
		m.mu.Lock()
		needed, ready, err := m.needed(ctx, room)
		m.mu.Unlock()
		if err != nil {
			return err
		}
		if err := m.meet(ctx, needed); err != nil {
			return err
		}
		if ready {
			return nil
		}
	}
	return nil
}

// needed returns the devices that get the key of a room with the next message and have no
// Olm session. ready says that nothing has changed since prepare has looked. m.mu is held.
func (m *Machine) needed(ctx context.Context, room id.RoomID) (devices []*id.Device, ready bool, err error) {
	visibility, known, err := m.rooms.visibility(ctx, room)
	if err != nil {
		return nil, false, err
	}
	users, err := m.rooms.readers(ctx, room)
	if err != nil {
		return nil, false, err
	}
	outdated, err := m.outdated(ctx, users)
	if err != nil {
		return nil, false, err
	}
	session, err := m.store.GetOutboundGroupSession(ctx, room)
	if err != nil {
		return nil, false, err
	}
	if session == nil || !session.Shared || session.Expired() {
		devices, err = m.withoutKey(ctx, "", users)
	} else if u, err := m.due(ctx, session, users); err != nil {
		return nil, false, err
	} else if u != nil {
		devices = u.first()
	}
	if err == nil {
		devices, err = m.without(ctx, devices)
	}
	return devices, known && visibility != "" && len(outdated) == 0, err
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
