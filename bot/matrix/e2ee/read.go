package e2ee

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/crypto/olm"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
	"modernc.org/sqlite"

	"matrix-tui/bot/matrix/decode"
	wire "matrix-tui/state/event"
)

var (
	// ErrUnreadable means that an event can never be decrypted: it is malformed,
	// redacted, from another room, or a copy of another event.
	ErrUnreadable = errors.New("the event cannot be decrypted")
	// ErrCopy is an ErrUnreadable that means that another event with the same place in the
	// same session was decrypted before.
	ErrCopy = fmt.Errorf("%w: it is a copy of another event", ErrUnreadable)
)

// NoKeyError means that the key of an event is missing, or is not proven to be its
// sender's. KeyArrived says when to try again; RequestKey requests the key.
type NoKeyError struct {
	Key
	Sender   string
	Withheld string // code with which the sender's device withholds the key, or ""
	Unproven bool   // there is a key, but it is not proven to be the sender's
}

func (e *NoKeyError) Error() string {
	if e.Withheld != "" {
		return "the key of the event is withheld: " + e.Withheld
	}
	if e.Unproven {
		return "the key of the event is not from a known device of its sender"
	}
	return "the key of the event is missing"
}

// decrypter decrypts room events.
type decrypter struct {
	*core
	people *people
}

// Decrypt decrypts the Raw bytes of an m.room.encrypted event. It returns the event as
// if it had been sent unencrypted, except for its Encryption. It returns *NoKeyError
// or *UntrustedDeviceError if it may succeed later, and ErrUnreadable if not; other
// errors are disk or network errors. It may be called again for the same event, even
// after a restart.
func (m *decrypter) Decrypt(ctx context.Context, in wire.Event) (wire.Event, error) {
	e, content, err := parseEncrypted(in.SentTo(), in.Raw)
	if err != nil {
		return wire.Event{}, err
	}
	key := Key{in.SentTo(), content.SessionID.String()}
	if m.deviceless() {
		return wire.Event{}, &NoKeyError{Key: key, Sender: e.Sender.String()}
	}
	plain, how, err := m.decrypt(ctx, e, content)
	if waits(err) {
		m.noteKey(key, e.Sender, true)
		plain, how, err = m.decrypt(ctx, e, content)
	}
	if err != nil {
		return wire.Event{}, err
	}
	m.noteKey(key, e.Sender, false)
	out, err := replace(in.Raw, plain)
	out.Room, out.Home, out.Encryption = in.Room, in.Home, how
	return out, err
}

func parseEncrypted(room string, raw json.RawMessage) (*event.Event, *event.EncryptedEventContent, error) {
	in, err := decode.FromServer(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if in.Type != wire.TypeEncrypted || in.StateKey != nil || in.ID == "" {
		return nil, nil, fmt.Errorf("%w: not an encrypted message", ErrUnreadable)
	}
	e := event.Event{Type: event.EventEncrypted, ID: id.EventID(in.ID), RoomID: id.RoomID(room),
		Sender: id.UserID(in.Sender), Timestamp: in.Time.UnixMilli()}
	if err := json.Unmarshal(in.Content, &e.Content); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if err := e.Content.ParseRaw(e.Type); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	content, ok := e.Content.Parsed.(*event.EncryptedEventContent)
	if !ok || content.Algorithm != id.AlgorithmMegolmV1 {
		return nil, nil, fmt.Errorf("%w: unknown algorithm", ErrUnreadable)
	}
	return &e, content, nil
}

// decrypt returns the plain event, and how far its sender is proven: Decrypted or Verified.
func (m *decrypter) decrypt(ctx context.Context, e *event.Event,
	content *event.EncryptedEventContent) (*event.Event, wire.Encryption, error) {
	noKey := &NoKeyError{Key: Key{e.RoomID.String(), content.SessionID.String()}, Sender: e.Sender.String()}
	session, err := m.keys().GetGroupSession(ctx, e.RoomID, content.SessionID)
	if withheld := (*event.RoomKeyWithheldEventContent)(nil); errors.As(err, &withheld) {
		noKey.Withheld = string(withheld.Code)
		return nil, "", noKey
	}
	if err != nil {
		return nil, "", fmt.Errorf("find key: %w", err)
	}
	if session == nil {
		return nil, "", noKey
	}
	how, err := m.prove(ctx, e.Sender, session, noKey.Key)
	if err != nil {
		return nil, "", err
	}
	if how == "" {
		noKey.Unproven = true
		return nil, "", noKey
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	plain, err := m.mach.DecryptMegolmEvent(m.log.WithContext(ctx), e)
	switch {
	case err == nil:
		return plain, how, nil
	case errors.Is(err, crypto.ErrNoSessionFound), errors.Is(err, olm.ErrUnknownMessageIndex):
		return nil, "", noKey
	case isDiskError(err), ctx.Err() != nil:
		return nil, "", fmt.Errorf("decrypt: %w", err)
	case errors.Is(err, crypto.ErrDuplicateMessageIndex):
		return nil, "", ErrCopy
	}
	return nil, "", fmt.Errorf("%w: %w", ErrUnreadable, err)
}

func isDiskError(err error) bool {
	var disk *sqlite.Error
	return errors.As(err, &disk)
}

// prove returns how far a key is proven to come from a device of the event's sender, for
// whom there is otherwise only the homeserver's word: "", Decrypted if the device is
// trusted, or Verified. A forwarded key counts if the device that forwarded it is a
// trusted one of the sender's or of our own account.
func (m *decrypter) prove(ctx context.Context, sender id.UserID, session *crypto.InboundGroupSession,
	key Key) (wire.Encryption, error) {
	device, err := m.people.deviceOf(ctx, sender, session.SenderKey)
	if err != nil || device == nil {
		return "", err
	}
	if device.SigningKey != session.SigningKey {
		return "", fmt.Errorf("%w: its key is not from a device of its sender", ErrUnreadable)
	}
	if err := m.requireTrust(ctx, device, key); err != nil {
		return "", err
	}
	if len(session.ForwardingChains) == 0 {
		return m.verified(ctx, device)
	}
	by := id.IdentityKey(session.ForwardingChains[len(session.ForwardingChains)-1])
	for _, user := range []id.UserID{sender, m.cfg.Client.UserID} {
		forwarder, err := m.people.deviceOf(ctx, user, by)
		if err != nil {
			return "", err
		}
		if forwarder == nil {
			continue
		}
		if err := m.requireTrust(ctx, forwarder, key); err == nil {
			return m.verified(ctx, device, forwarder)
		} else if !waits(err) {
			return "", err
		}
	}
	return "", nil
}

// replace puts the decrypted type and content into the event and decodes the result.
func replace(raw json.RawMessage, plain *event.Event) (wire.Event, error) {
	if plain.Type.Type == "" || plain.Type.Type == event.EventEncrypted.Type {
		return wire.Event{}, fmt.Errorf("%w: it contains a %q", ErrUnreadable, plain.Type.Type)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return wire.Event{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	var content map[string]json.RawMessage
	if json.Unmarshal(plain.Content.VeryRaw, &content) != nil || content == nil {
		return wire.Event{}, fmt.Errorf("%w: its content is not an object", ErrUnreadable)
	}
	all["content"] = plain.Content.VeryRaw
	all["type"], _ = json.Marshal(plain.Type.Type) // a string cannot fail
	whole, err := json.Marshal(all)
	if err != nil {
		return wire.Event{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	out, err := decode.FromServer(whole)
	if err != nil {
		return wire.Event{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return out, nil
}

// RequestKey requests a key from the sender's devices and from our other devices.
func (m *decrypter) RequestKey(ctx context.Context, room, sender, session string) error {
	if m.deviceless() {
		return fmt.Errorf("request key: %w", ErrNoDevice)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.mach.SendRoomKeyRequest(ctx, id.RoomID(room), "", id.SessionID(session), "", map[id.UserID][]id.DeviceID{
		id.UserID(sender): {"*"}, m.cfg.Client.UserID: {"*"},
	})
	if err != nil {
		return fmt.Errorf("request key: %w", err)
	}
	return nil
}
