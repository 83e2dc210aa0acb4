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

// sender encrypts messages to rooms and shares their keys.
type sender struct {
	*core
	people  *people
	members *members
	again   map[id.RoomID]again // by room; guarded by mu
}

// Encrypt returns the type and content to send: unchanged for an unencrypted room,
// else m.room.encrypted and the encrypted content. Before it returns, the key was sent
// to the trusted devices of all readers, except devices without one-time keys, which
// get it with a later message. Encrypting the same content again and sending it with
// the same transaction ID creates no second message.
func (m *sender) Encrypt(ctx context.Context, room, eventType string,
	content json.RawMessage) (string, json.RawMessage, error) {
	needed, err := m.members.IsEncrypted(ctx, room)
	if err != nil {
		return "", nil, err
	}
	if !needed || slices.Contains(clearTypes, eventType) {
		return eventType, content, nil
	}
	if m.deviceless() {
		return "", nil, fmt.Errorf("encrypt for %s: %w", room, ErrNoDevice)
	}
	var encrypted *event.EncryptedEventContent
	err = m.prepare(ctx, id.RoomID(room), func() (err error) {
		encrypted, err = m.encrypt(ctx, id.RoomID(room), event.NewEventType(eventType), content)
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("encrypt for %s: %w", room, err)
	}
	out, err := outside(encrypted, content)
	return event.EventEncrypted.Type, out, err
}

// errReaders means that it is not known who reads a room.
var errReaders = errors.New("the room's members have changed")

// prepare fetches what encrypt needs: the members of a room, their devices, and a session
// with each device. Then it calls f with m.mu held, so that nothing changes before encrypt.
func (m *sender) prepare(ctx context.Context, room id.RoomID, f func() error) error {
	how, _, err := m.rooms.how(ctx, room)
	if err != nil {
		return err
	}
	if how == nil || how.Algorithm != id.AlgorithmMegolmV1 {
		return ErrAlgorithm
	}
	met := map[id.IdentityKey]bool{}
	for attempt := 0; ; attempt++ { // what is needed may change meanwhile
		if err := m.members.learnMembers(ctx, room); err != nil {
			return err
		}
		users, err := m.rooms.readers(ctx, room)
		if err != nil {
			return err
		}
		if err := m.people.refreshDevices(ctx, users); err != nil { // may end the session
			return err
		}
		n, err := m.needs(ctx, room, met, attempt >= 3, f)
		if err != nil || n.done {
			return err
		}
		for _, device := range n.devices {
			met[device.IdentityKey] = true
		}
		if err := m.meet(ctx, n.devices); err != nil {
			if n.key || ctx.Err() != nil || isDiskError(err) {
				return err
			}
			m.log.Warn().Err(err).Stringer("room", room).Msg("cannot create sessions with some devices") // the next attempt may
		}
	}
}

// needs is what a message to a room still needs.
type needs struct {
	done    bool         // nothing: f was called
	key     bool         // the message gets a new key
	devices []*id.Device // get the key with the message, and have no Olm session
}

// needs returns what a message needs. It leaves out devices that were met. If nothing is needed, or this is the last
// attempt, it calls f with m.mu held.
func (m *sender) needs(ctx context.Context, room id.RoomID, met map[id.IdentityKey]bool, last bool,
	f func() error) (n needs, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	visibility, members, err := m.rooms.visibility(ctx, room)
	if err != nil {
		return n, err
	}
	users, err := m.rooms.readers(ctx, room)
	if err != nil {
		return n, err
	}
	outdated, err := m.people.outdated(ctx, users)
	if err != nil {
		return n, err
	}
	session, err := m.store.GetOutboundGroupSession(ctx, room)
	if err != nil {
		return n, err
	}
	var without []*id.Device
	n.key = session == nil || !session.Shared || session.Expired()
	due := !n.key && m.isDue(session)
	if n.key {
		without, err = m.withoutKey(ctx, "", users)
	} else if due {
		without, err = m.withoutKey(ctx, session.ID(), users)
	}
	if err != nil {
		return n, err
	}
	lacking, err := m.store.lacking(ctx, without)
	if err != nil {
		return n, err
	}
	n.devices = slices.DeleteFunc(slices.Clone(lacking), func(d *id.Device) bool { return met[d.IdentityKey] })
	known := members && visibility != "" && len(outdated) == 0 // as far as homeservers answer
	if n.done = last || known && len(n.devices) == 0; !n.done {
		return n, nil
	}
	if due {
		if err := m.looked(ctx, session, len(without), len(lacking)); err != nil {
			return n, err
		}
	}
	return n, f()
}

// encrypt is Encrypt for an encrypted room, after prepare. It makes only requests that our
// homeserver answers by itself. m.mu is held.
func (m *sender) encrypt(ctx context.Context, room id.RoomID, kind event.Type,
	content any) (*event.EncryptedEventContent, error) {
	ctx = withoutRequests(ctx)
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
	encrypted, err := m.mach.EncryptMegolmEvent(ctx, room, kind, content)
	if !crypto.IsShareError(err) {
		return encrypted, err
	}
	m.db.begin()
	err = m.mach.ShareGroupSession(ctx, room, users)
	if lost := m.db.failure(); lost != nil { // the ratchet state is not on disk: load the old one and send nothing
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
