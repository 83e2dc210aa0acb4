package e2ee

import (
	"context"
	"fmt"
	"time"

	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/id"
)

const (
	reachFirst = time.Minute // pause after the first attempt; it doubles each time
	reachMost  = time.Hour
	maxAgain   = 10_000 // rooms
)

// again says when to look again for devices that did not get the key of a room's messages, because they had no one-time
// key. Once one of them has, the room gets a new key.
type again struct {
	session id.SessionID
	next    time.Time
	pause   time.Duration // after the next attempt; 0 for none yet
}

// isDue reports whether it is time to look for devices that did not get a key. m.mu is held.
func (m *sender) isDue(session *crypto.OutboundGroupSession) bool {
	a := m.again[session.RoomID]
	return a.session != session.ID() || time.Now().After(a.next)
}

// giveUp ends the key of a room's messages if it is time to look for devices that did not get it, and one of them can
// get the next. m.mu is held.
func (m *sender) giveUp(ctx context.Context, session *crypto.OutboundGroupSession, users []id.UserID) error {
	if !m.isDue(session) {
		return nil
	}
	devices, err := m.withoutKey(ctx, session.ID(), users)
	if err != nil {
		return err
	}
	a := again{session: session.ID(), next: time.Now().Add(session.MaxAge)}
	if len(devices) > 0 {
		pause := max(reachFirst, m.again[session.RoomID].pause)
		a.next, a.pause = time.Now().Add(pause), min(2*pause, reachMost)
	}
	if len(m.again) >= maxAgain {
		clear(m.again)
	}
	m.again[session.RoomID] = a
	for _, device := range devices {
		if lacks, err := m.store.lacks(ctx, device); err != nil {
			return err
		} else if !lacks {
			return m.store.RemoveOutboundGroupSession(ctx, session.RoomID)
		}
	}
	return nil
}

// withoutKey returns the users' trusted devices that do not have a session's key; "" is
// the session of which nobody has it. m.mu is held.
func (m *sender) withoutKey(ctx context.Context, session id.SessionID,
	users []id.UserID) (devices []*id.Device, err error) {
	for _, user := range users {
		all, err := m.store.GetDevices(ctx, user)
		if err != nil {
			return nil, fmt.Errorf("list devices of %s: %w", user, err)
		}
		for _, device := range all {
			if user == m.cfg.Client.UserID && device.DeviceID == m.cfg.Client.DeviceID ||
				device.Trust == id.TrustStateBlacklisted {
				continue
			}
			shared, err := m.store.IsOutboundGroupSessionShared(ctx, user, device.IdentityKey, session)
			if err != nil {
				return nil, fmt.Errorf("look up who has the key: %w", err)
			}
			if shared {
				continue
			}
			trusted, err := m.trusts(ctx, device)
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
