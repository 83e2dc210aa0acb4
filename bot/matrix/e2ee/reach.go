package e2ee

import (
	"context"
	"fmt"
	"slices"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

const (
	reachFirst = time.Minute // after the first try that was in vain; then twice as long each time
	reachMost  = time.Hour
	maxReach   = 100 // devices of one try
)

// unreached are the devices that were not given the key of a room's messages,
// because they had no one-time key when it was shared: there was no way to write
// to them. They get it from where it is then.
type unreached struct {
	session id.SessionID
	devices []*id.Device
	next    time.Time     // when to try again
	pause   time.Duration // after that
}

// reach gives the key of a room's messages to readers' devices that it has not
// reached, at the next message and then less and less often; m.mu is held. What
// cannot be sent to some must not keep the others waiting: it is only logged,
// but for errors of the disk.
func (m *Machine) reach(ctx context.Context, room id.RoomID, users []id.UserID) error {
	session, err := m.store.GetOutboundGroupSession(ctx, room)
	if err != nil || session == nil || !session.Shared || session.Expired() {
		return err // it is shared anew
	}
	u := m.unreached[room]
	if u == nil || u.session != session.ID() {
		devices, err := m.withoutKey(ctx, session.ID(), users)
		if err != nil {
			return err
		}
		if len(m.unreached) >= 10_000 {
			clear(m.unreached)
		}
		u = &unreached{session: session.ID(), devices: devices, pause: reachFirst}
		m.unreached[room] = u
	}
	if len(u.devices) == 0 || time.Now().Before(u.next) {
		return nil
	}
	u.next, u.pause = time.Now().Add(u.pause), min(2*u.pause, reachMost)
	now := u.devices[:min(len(u.devices), maxReach)]
	left, err := m.give(ctx, session, now)
	u.devices = slices.Concat(u.devices[len(now):], left) // each has its turn
	return err
}

// withoutKey are the trusted devices of users that a session was not shared with.
func (m *Machine) withoutKey(ctx context.Context, session id.SessionID, users []id.UserID) (devices []*id.Device, err error) {
	for _, user := range users {
		all, err := m.store.GetDevices(ctx, user)
		if err != nil {
			return nil, fmt.Errorf("list devices of %s: %w", user, err)
		}
		for _, device := range all {
			if user == m.cfg.Client.UserID && device.DeviceID == m.cfg.Client.DeviceID || device.Trust == id.TrustStateBlacklisted {
				continue
			}
			shared, err := m.store.IsOutboundGroupSessionShared(ctx, user, device.IdentityKey, session)
			if err != nil {
				return nil, fmt.Errorf("look who has the key: %w", err)
			}
			if shared {
				continue
			}
			trusted, err := m.trusts(ctx, m.mach, device)
			if err != nil {
				return nil, err
			}
			if trusted { // one that is not gets the next key, once it is
				devices = append(devices, device)
			}
		}
	}
	return devices, nil
}

// give sends the key of a session to those of the devices that can be written to
// by now, notes them, and returns the others.
func (m *Machine) give(ctx context.Context, session *crypto.OutboundGroupSession, devices []*id.Device) (left []*id.Device, err error) {
	key := session.ShareContent()
	req := &mautrix.ReqSendToDevice{Messages: map[id.UserID]map[id.DeviceID]*event.Content{}}
	for _, device := range devices {
		if req.Messages[device.UserID] == nil {
			req.Messages[device.UserID] = map[id.DeviceID]*event.Content{}
		}
		req.Messages[device.UserID][device.DeviceID] = &key
	}
	m.store.begin()
	sealed, err := m.mach.EncryptToDevices(ctx, event.ToDeviceRoomKey, req)
	if lost := m.store.failure(); lost != nil { // what is encrypted is not on disk: it must not be sent
		m.reload(ctx)
		return devices, lost
	}
	reached := 0
	if err == nil {
		for user, to := range sealed.Messages {
			reached += len(to)
			if len(to) == 0 {
				delete(sealed.Messages, user)
			}
		}
		if reached > 0 {
			_, err = m.cfg.Client.SendToDevice(ctx, event.ToDeviceEncrypted, sealed)
		}
	}
	if err != nil {
		m.log.Warn().Err(err).Stringer("room", session.RoomID).Msg("some devices still have no key")
		return devices, nil
	}
	for _, device := range devices {
		if sealed.Messages[device.UserID][device.DeviceID] == nil {
			left = append(left, device)
			continue
		}
		if err := m.store.MarkOutboundGroupSessionShared(ctx, device.UserID, device.IdentityKey, session.ID()); err != nil {
			return devices, fmt.Errorf("note who has the key: %w", err)
		}
	}
	return left, nil
}
