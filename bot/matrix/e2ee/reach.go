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
	reachFirst = time.Minute // pause after the first failed attempt; it doubles each time
	reachMost  = time.Hour
	maxReach   = 100 // devices per attempt
)

// unreached holds the devices that did not get the key of a room's messages because
// they had no one-time key when it was shared. They get it later, for messages from
// then on.
type unreached struct {
	session id.SessionID
	devices []*id.Device
	next    time.Time     // time of the next attempt
	pause   time.Duration // pause after that attempt
}

// reach sends the key of a room's messages to devices that it has not reached, with
// each message but with growing pauses. A failure to send is only logged, so that one
// device cannot block the room; disk errors are returned. m.mu is held.
func (m *Machine) reach(ctx context.Context, room id.RoomID, users []id.UserID) error {
	session, err := m.store.GetOutboundGroupSession(ctx, room)
	if err != nil || session == nil || !session.Shared || session.Expired() {
		return err // a new key is shared with everybody
	}
	u, err := m.due(ctx, session, users)
	if err != nil || u == nil {
		return err
	}
	u.next, u.pause = time.Now().Add(u.pause), min(2*u.pause, reachMost)
	now := u.first()
	left, err := m.give(ctx, session, now)
	u.devices = slices.Concat(u.devices[len(now):], left) // failed devices go to the end
	return err
}

// first returns the devices of the next attempt.
func (u *unreached) first() []*id.Device { return u.devices[:min(len(u.devices), maxReach)] }

// due returns the devices that the key of a session has not reached if it is time to try
// again, else nil. m.mu is held.
func (m *Machine) due(ctx context.Context, session *crypto.OutboundGroupSession, users []id.UserID) (*unreached, error) {
	u := m.unreached[session.RoomID]
	if u == nil || u.session != session.ID() {
		devices, err := m.withoutKey(ctx, session.ID(), users)
		if err != nil {
			return nil, err
		}
		if len(m.unreached) >= 10_000 {
			clear(m.unreached)
		}
		u = &unreached{session: session.ID(), devices: devices, pause: reachFirst}
		m.unreached[session.RoomID] = u
	}
	if len(u.devices) == 0 || time.Now().Before(u.next) {
		return nil, nil
	}
	return u, nil
}

// withoutKey returns the users' trusted devices that do not have a session's key; "" is
// the session of which nobody has it.
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
				return nil, fmt.Errorf("look up who has the key: %w", err)
			}
			if shared {
				continue
			}
			trusted, err := m.trusts(ctx, m.mach, device)
			if err != nil {
				return nil, err
			}
			if trusted { // an untrusted device gets the next key once it is trusted
				devices = append(devices, device)
			}
		}
	}
	return devices, nil
}

// give sends the key of a session to the devices that can now be reached, records
// them and returns the others.
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
	encrypted, err := m.mach.EncryptToDevices(ctx, event.ToDeviceRoomKey, req)
	if lost := m.store.failure(); lost != nil { // the ratchet state is not on disk, so nothing may be sent
		m.reload(ctx)
		return devices, lost
	}
	reached := 0
	if err == nil {
		for user, to := range encrypted.Messages {
			reached += len(to)
			if len(to) == 0 {
				delete(encrypted.Messages, user)
			}
		}
		if reached > 0 {
			_, err = m.mach.Client.SendToDevice(ctx, event.ToDeviceEncrypted, encrypted)
		}
	}
	if err != nil {
		m.log.Warn().Err(err).Stringer("room", session.RoomID).Msg("cannot send a room key to some devices")
		return devices, nil
	}
	for _, device := range devices {
		if encrypted.Messages[device.UserID][device.DeviceID] == nil {
			left = append(left, device)
			continue
		}
		if err := m.store.MarkOutboundGroupSessionShared(ctx, device.UserID, device.IdentityKey, session.ID()); err != nil {
			return devices, fmt.Errorf("record who has the key: %w", err)
		}
	}
	return left, nil
}
