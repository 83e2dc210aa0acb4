package e2ee

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/matrix/decode"
)

// Sync is the part of a /sync response that concerns encryption. It has Matrix's JSON
// names, so it can be embedded in a response.
type Sync struct {
	ToDevice struct {
		Events []json.RawMessage `json:"events"`
	} `json:"to_device"`
	DeviceLists struct {
		Changed []id.UserID `json:"changed"`
	} `json:"device_lists"`
	OneTimeKeys  map[string]int `json:"device_one_time_keys_count"`
	FallbackKeys []string       `json:"device_unused_fallback_key_types"`
}

// ProcessSync processes the encryption part of a /sync. Call it before the events of
// the batch are decrypted. initial says that the sync had no token, so that it does
// not list all changed devices. Keys are stored in one transaction; after an error
// none are, and the batch must be processed again before its token is committed.
// Device lists are fetched when they are needed.
func (m *Machine) ProcessSync(ctx context.Context, s Sync, initial bool) error {
	if m.deviceless() {
		return nil
	}
	m.mu.Lock()
	came, err := m.processSync(ctx, s, initial)
	m.mu.Unlock()
	if err != nil {
		return fmt.Errorf("process keys of a sync: %w", err)
	}
	for _, key := range came {
		if m.cfg.KeyArrived != nil {
			m.cfg.KeyArrived(key)
		}
	}
	return nil
}

// AfterCommit uploads the one-time and fallback keys that the homeserver needs
// according to a /sync, and repairs Olm sessions. Call it after the batch is
// committed: if the state could still be rolled back, the private half of an uploaded
// key, or the ratchet step of a sent one, might be lost. For the same reason it is what
// answers key requests.
func (m *Machine) AfterCommit(ctx context.Context, s Sync) {
	if m.deviceless() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx = m.log.WithContext(ctx)
	for _, e := range m.asking {
		m.guard("request for a key", func() { m.answerAsking(ctx, e) })
	}
	m.asking = nil
	m.repairSessions(ctx)
	m.refillOneTimeKeys(ctx, s.OneTimeKeys)
	if err := m.renewFallback(ctx, s.FallbackKeys); err != nil {
		m.log.Warn().Err(err).Msg("cannot renew the fallback key")
	}
}

func (m *Machine) processSync(ctx context.Context, s Sync, initial bool) ([]Key, error) {
	ctx = m.log.WithContext(ctx)
	changed := s.DeviceLists.Changed
	if initial {
		all, err := m.store.tracked(ctx)
		if err != nil {
			return nil, err
		}
		changed = all
	}
	if err := m.store.MarkTrackedUsersOutdated(ctx, changed); err != nil {
		return nil, fmt.Errorf("record changed devices: %w", err)
	}
	for _, user := range changed {
		m.hasChanged(user)
	}
	var olm, others []*event.Event
	for _, raw := range s.ToDevice.Events {
		e, ok := parseToDevice(raw)
		switch {
		case !ok:
		case e.Type == event.ToDeviceEncrypted:
			olm = append(olm, e)
		default:
			others = append(others, e)
		}
	}
	clear(m.came)
	inner, err := m.processOlm(ctx, olm)
	if err != nil {
		return nil, err
	}
	m.asking = nil // the batch may be processed again
	for _, e := range slices.Concat(inner, others) {
		m.guard("to-device event", func() { m.processToDevice(ctx, e) })
	}
	m.mach.MarkOlmHashSavePoint(ctx)
	return m.arrived(m.came, changed), nil
}

func parseToDevice(raw json.RawMessage) (*event.Event, bool) {
	decoded, err := decode.FromServer(raw)
	if err != nil {
		return nil, false
	}
	e := event.Event{Sender: id.UserID(decoded.Sender), Type: event.Type{Type: decoded.Type,
		Class: event.ToDeviceEventType}}
	return &e, json.Unmarshal(decoded.Content, &e.Content) == nil && e.Content.ParseRaw(e.Type) == nil
}

// processOlm decrypts the to-device events, mostly keys, in one transaction. After a
// rollback it reloads the machine from disk.
func (m *Machine) processOlm(ctx context.Context, events []*event.Event) (inner []*event.Event, err error) {
	if len(events) == 0 {
		return nil, nil
	}
	m.db.begin()
	err = m.db.DoTxn(ctx, nil, func(ctx context.Context) error {
		for _, e := range events {
			m.guard("encrypted to-device event", func() {
				if plain := m.mach.HandleEncryptedEvent(ctx, e); plain != nil {
					inner = append(inner, &event.Event{Sender: e.Sender, Type: plain.Type, Content: plain.Content})
				}
			})
		}
		return errors.Join(m.db.failure(), ctx.Err())
	})
	if err == nil {
		return inner, nil
	}
	m.reload(ctx)
	return nil, fmt.Errorf("store keys: %w", err)
}

// processToDevice processes a to-device event that contains no key. It may make
// requests.
func (m *Machine) processToDevice(ctx context.Context, e *event.Event) {
	switch content := e.Content.Parsed.(type) {
	case *event.RoomKeyRequestEventContent, *event.SecretRequestEventContent:
		m.asking = append(m.asking, e)
	case *event.RoomKeyWithheldEventContent:
		m.mach.HandleToDeviceEvent(ctx, e)
		m.came[Key{content.RoomID.String(), content.SessionID.String()}] = true
	default:
		m.verify.take(ctx, e)
	}
}

// maxWedged is the maximum number of broken Olm sessions that are repaired after a sync. The next message of the others
// comes again.
const maxWedged = 20

// repairSessions creates new Olm sessions with devices whose messages we cannot
// decrypt, in the background. m.mu is held.
func (m *Machine) repairSessions(ctx context.Context) {
	defer clear(m.wedged)
	for key, user := range m.wedged {
		made, err := m.store.GetNewestSessionCreationTS(ctx, key)
		if err == nil && time.Since(made) < crypto.MinUnwedgeInterval {
			continue
		}
		var device *id.Device
		if err == nil {
			device, err = m.store.FindDeviceByKey(ctx, user, key)
		}
		if err != nil {
			m.log.Warn().Err(err).Msg("cannot find a device without a session")
		}
		if err == nil && device != nil {
			m.requests.Go(func() {
				if err := m.repair(device); err != nil && m.ctx.Err() == nil {
					m.NoteDamage(err)
					m.log.Warn().Err(err).Msg("cannot create a new session with a device")
				}
			})
		}
	}
}

// repair creates an Olm session with a device and tells the device.
func (m *Machine) repair(device *id.Device) error {
	if err := m.meet(m.ctx, []*id.Device{device}); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return recovered(func() error {
		return m.mach.SendEncryptedToDevice(withoutRequests(m.ctx), device, event.ToDeviceDummy, event.Content{})
	})
}

// answerAsking answers a request for a key or a secret. m.mu is held.
func (m *Machine) answerAsking(ctx context.Context, e *event.Event) {
	if request, ok := e.Content.Parsed.(*event.RoomKeyRequestEventContent); ok {
		m.answerRequest(ctx, e.Sender, request)
	} else {
		m.mach.HandleToDeviceEvent(ctx, e)
	}
}

// answerRequest sends a key again to a device that it was sent to before. It answers
// only known and trusted devices and fetches none, so that a stranger cannot make us
// send requests. m.mu is held.
func (m *Machine) answerRequest(ctx context.Context, user id.UserID, request *event.RoomKeyRequestEventContent) {
	device, err := m.store.GetDevice(ctx, user, request.RequestingDeviceID)
	if err != nil || device == nil {
		return
	}
	if yes, err := m.trusts(ctx, device); err != nil || !yes {
		return
	}
	m.mach.HandleRoomKeyRequest(withoutRequests(ctx), user, request) // whoever has had a key has an Olm session
}
