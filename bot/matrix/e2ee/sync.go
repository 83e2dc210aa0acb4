package e2ee

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/matrix/decode"
)

// Sync is the part of a /sync answer that encryption is made of. The JSON names
// are Matrix's own, so the struct can be embedded in a response.
type Sync struct {
	ToDevice struct {
		Events []json.RawMessage `json:"events"`
	} `json:"to_device"`
	DeviceLists struct {
		Changed []id.UserID `json:"changed"`
		Left    []id.UserID `json:"left"`
	} `json:"device_lists"`
	OneTimeKeys  map[string]int `json:"device_one_time_keys_count"`
	FallbackKeys []string       `json:"device_unused_fallback_key_types"`
}

// TakeSync takes what came with a /sync, before the events of the same batch are
// decrypted. initial tells that the sync had no token: whose devices have
// changed is not known then. Keys are on disk when it returns, in one
// transaction; an error means that none of them is, and that the batch is to be
// taken again before its token is committed. Device lists are asked for when
// they are needed.
func (m *Machine) TakeSync(ctx context.Context, s Sync, initial bool) error {
	if m.deviceless() {
		return nil
	}
	m.mu.Lock()
	came, err := m.takeSync(ctx, s, initial)
	m.mu.Unlock()
	if err != nil {
		return fmt.Errorf("take keys of a sync: %w", err)
	}
	for _, key := range came {
		if m.cfg.KeyCame != nil {
			m.cfg.KeyCame(key)
		}
	}
	return nil
}

// Tend gives the homeserver what a /sync says it lacks: one-time and fallback
// keys, and new sessions with devices that we cannot read. It comes when the
// batch is committed: the other half of a key that is given out must not go with
// a state that is put back. Nor must the step of a ratchet with which a key was
// sent: until the first Tend, those who ask for keys wait for it. Later TakeSync
// answers them: an answer that comes twice does no harm, one that is lost does.
func (m *Machine) Tend(ctx context.Context, s Sync) {
	if m.deviceless() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx = m.log.WithContext(ctx)
	m.tended = true
	for _, e := range m.asking {
		m.guard("request for a key", func() { m.takeToDevice(ctx, e) })
	}
	m.asking = nil
	m.mendSessions(ctx)
	m.refill(ctx, s.OneTimeKeys)
	if err := m.renewFallback(ctx, s.FallbackKeys); err != nil {
		m.log.Warn().Err(err).Msg("no fallback key")
	}
}

func (m *Machine) takeSync(ctx context.Context, s Sync, initial bool) ([]Key, error) {
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
		return nil, fmt.Errorf("note changed devices: %w", err)
	}
	for _, user := range changed {
		delete(m.asked, user) // there is something new to ask for
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
	inner, err := m.takeOlm(ctx, olm)
	if err != nil {
		return nil, err
	}
	m.asking = nil // of a batch that is taken again
	for _, e := range slices.Concat(inner, others) {
		m.guard("to-device event", func() { m.takeToDevice(ctx, e) })
	}
	m.mach.MarkOlmHashSavePoint(ctx)
	m.missing.changed(changed)
	return m.missing.take(), nil
}

func parseToDevice(raw json.RawMessage) (*event.Event, bool) {
	decoded, err := decode.FromServer(raw)
	if err != nil {
		return nil, false
	}
	e := event.Event{Sender: id.UserID(decoded.Sender), Type: event.Type{Type: decoded.Type, Class: event.ToDeviceEventType}}
	return &e, json.Unmarshal(decoded.Content, &e.Content) == nil && e.Content.ParseRaw(e.Type) == nil
}

// takeOlm reads what was encrypted for this device alone: keys above all. All
// of it is one transaction; after a rollback the machine starts from the disk.
func (m *Machine) takeOlm(ctx context.Context, events []*event.Event) (inner []*event.Event, err error) {
	if len(events) == 0 {
		return nil, nil
	}
	m.missing.begin()
	m.store.begin()
	err = m.db.DoTxn(ctx, nil, func(ctx context.Context) error {
		for _, e := range events {
			m.guard("encrypted to-device event", func() {
				if plain := m.mach.HandleEncryptedEvent(ctx, e); plain != nil {
					inner = append(inner, &event.Event{Sender: e.Sender, Type: plain.Type, Content: plain.Content})
				}
			})
		}
		return errors.Join(m.store.failure(), ctx.Err())
	})
	if err == nil {
		return inner, nil
	}
	m.missing.begin()
	m.reload(ctx)
	return nil, fmt.Errorf("store keys: %w", err)
}

// reload starts the machine from the disk, which memory is ahead of.
func (m *Machine) reload(ctx context.Context) {
	if err := m.load(context.WithoutCancel(ctx)); err != nil {
		m.log.Error().Err(err).Msg("crypto.db cannot be read")
	}
}

// takeToDevice takes an event that was sent in clear, or that is none of the
// keys; it may ask the homeserver.
func (m *Machine) takeToDevice(ctx context.Context, e *event.Event) {
	switch content := e.Content.Parsed.(type) {
	case *event.RoomKeyRequestEventContent, *event.SecretRequestEventContent:
		if !m.tended {
			m.asking = append(m.asking, e)
		} else if request, ok := content.(*event.RoomKeyRequestEventContent); ok {
			m.answerRequest(ctx, e.Sender, request)
		} else {
			m.mach.HandleToDeviceEvent(ctx, e)
		}
	case *event.RoomKeyWithheldEventContent:
		m.mach.HandleToDeviceEvent(ctx, e)
		m.missing.arrived(Key{content.RoomID.String(), content.SessionID.String()})
	default:
		m.verify.take(ctx, e)
	}
}

// guard keeps what others sent from ending the program by way of a library.
func (m *Machine) guard(what string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			m.log.Error().Interface("panic", r).Str("what", what).Msg("an event is passed over")
		}
	}()
	f()
}

// refill gives the homeserver one-time keys when it has few. One that has none
// left may say nothing of them, and so may one that leaves the count out: it is
// asked, once in a while.
func (m *Machine) refill(ctx context.Context, left map[string]int) {
	count, told := left[string(id.KeyAlgorithmSignedCurve25519)]
	if told {
		m.mach.HandleOTKCounts(ctx, &mautrix.OTKCount{SignedCurve25519: count})
		return
	}
	if time.Since(m.counted) < askAgain {
		return
	}
	m.counted = time.Now()
	if err := m.mach.ShareKeys(ctx, -1); err != nil {
		m.log.Warn().Err(err).Msg("one-time keys are not counted")
	}
}

// mendSessions makes new olm sessions with devices whose messages we cannot
// read any more; ten a sync.
func (m *Machine) mendSessions(ctx context.Context) {
	for range 10 {
		key, ok := m.store.broken()
		if !ok {
			return
		}
		device, err := m.store.owner(ctx, key)
		if err == nil && device != nil {
			err = m.mach.SendEncryptedToDevice(ctx, device, event.ToDeviceDummy, event.Content{})
		}
		if err != nil {
			m.log.Warn().Err(err).Msg("no new session with a device")
		}
	}
}
