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

// ErrAlgorithm means that the room asks for an encryption that we do not speak:
// nothing can be said in it.
var ErrAlgorithm = errors.New("the room is encrypted in a way that is not supported")

// clearTypes go in clear into encrypted rooms. A redaction is an instruction to
// servers. A reaction consists of its relation, which stays readable anyway
// (https://spec.matrix.org/v1.11/client-server-api/#encrypted-events); Element
// and matrix-rust-sdk send it in clear and read only clear ones reliably.
var clearTypes = []string{"m.reaction", "m.room.redaction"}

// txnKey stands outside of the encryption too: the homeserver knows the
// transaction from the request, and our own echo is recognised without a key.
const txnKey = "io.matrix-tui.txn"

// Encrypt makes what is to be sent: the event's type and content as they are for
// a room in clear, and m.room.encrypted with the encrypted content for others.
// The key goes to all devices of those who may read before it returns, but for
// devices without one-time keys, which get it with a later message. The same
// content encrypted again under the same transaction ID is one message.
func (m *Machine) Encrypt(ctx context.Context, room, eventType string, content json.RawMessage) (string, json.RawMessage, error) {
	encrypted, err := m.IsEncrypted(ctx, room)
	if err != nil {
		return "", nil, err
	}
	if !encrypted || slices.Contains(clearTypes, eventType) {
		return eventType, content, nil
	}
	if m.deviceless() {
		return "", nil, fmt.Errorf("encrypt for %s: %w", room, ErrNoDevice)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	sealed, err := m.encrypt(ctx, id.RoomID(room), event.NewEventType(eventType), content)
	if err != nil {
		return "", nil, fmt.Errorf("encrypt for %s: %w", room, err)
	}
	out, err := outside(sealed, content)
	return event.EventEncrypted.Type, out, err
}

// encrypt is Encrypt for an encrypted room; m.mu is held.
func (m *Machine) encrypt(ctx context.Context, room id.RoomID, kind event.Type, content any) (*event.EncryptedEventContent, error) {
	how, _, err := m.rooms.how(ctx, room)
	if err != nil {
		return nil, err
	}
	if how == nil || how.Algorithm != id.AlgorithmMegolmV1 {
		return nil, ErrAlgorithm
	}
	if err := m.learnMembers(ctx, room); err != nil {
		return nil, err
	}
	users, err := m.rooms.readers(ctx, room)
	if err != nil {
		return nil, err
	}
	if err := m.refreshDevices(ctx, users); err != nil { // may end the session
		return nil, err
	}
	if err := m.reach(ctx, room, users); err != nil {
		return nil, err
	}
	sealed, err := m.mach.EncryptMegolmEvent(ctx, room, kind, content)
	if !errors.Is(err, crypto.ErrNoGroupSession) && !errors.Is(err, crypto.ErrSessionExpired) && !errors.Is(err, crypto.ErrSessionNotShared) {
		return sealed, err
	}
	m.store.begin()
	err = m.mach.ShareGroupSession(ctx, room, users)
	if lost := m.store.failure(); lost != nil { // what was sent is not on disk: it must not be sent again
		err = lost
		m.reload(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("share the key: %w", err)
	}
	return m.mach.EncryptMegolmEvent(ctx, room, kind, content)
}

// outside adds to the encrypted content what stays readable of the plain one:
// the relation as it was written, and the transaction.
func outside(sealed *event.EncryptedEventContent, plain json.RawMessage) (json.RawMessage, error) {
	data, err := json.Marshal(sealed)
	if err != nil {
		return nil, fmt.Errorf("write encrypted content: %w", err)
	}
	var from, to map[string]json.RawMessage
	if err := json.Unmarshal(data, &to); err != nil {
		return nil, fmt.Errorf("write encrypted content: %w", err)
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
