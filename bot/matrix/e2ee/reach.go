package e2ee

import (
	"context"
	"fmt"
	"time"

	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/id"
)

const (
	reachPause = 10 * time.Minute
	maxAgain   = 10_000 // rooms
)

// again says when to look again for devices that did not get the key of a room's messages, because they had no one-time
// key. Once one of them has, the room gets a new key.
type again struct {
	session id.SessionID
	next    time.Time
}

// isDue reports whether it is time to look for devices that did not get a key. m.mu is held.
func (m *sender) isDue(session *crypto.OutboundGroupSession) bool {
	a := m.again[session.RoomID]
	return a.session != session.ID() || time.Now().After(a.next)
}

// looked notes how many devices did not get the key of a room's messages, and how many of them cannot get the next
// either. If others can, the key ends. m.mu is held.
func (m *sender) looked(ctx context.Context, session *crypto.OutboundGroupSession, without, lacking int) error {
	pause := session.MaxAge
	if without > 0 {
		pause = reachPause
	}
	if len(m.again) >= maxAgain {
		clear(m.again)
	}
	m.again[session.RoomID] = again{session.ID(), time.Now().Add(pause)}
	if lacking < without {
		return m.store.RemoveOutboundGroupSession(ctx, session.RoomID)
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
