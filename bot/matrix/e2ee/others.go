package e2ee

import (
	"context"
	"fmt"
	"slices"
	"time"

	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

const (
	askAgain = time.Minute // how long nobody is asked again for devices that were not told
	// lookAgain is how long the devices of a user that are not trusted are not
	// asked for again, unless the homeserver says that they have changed.
	lookAgain = time.Hour
)

// refreshDevices asks for the devices of those of the users whose lists have
// changed. Users of a homeserver that does not answer are left as they were
// known, and asked for again after a while; m.mu is held.
func (m *Machine) refreshDevices(ctx context.Context, users []id.UserID) error {
	outdated, err := m.store.GetOutdatedTrackedUsers(ctx)
	if err != nil {
		return fmt.Errorf("list changed devices: %w", err)
	}
	outdated = slices.DeleteFunc(outdated, func(user id.UserID) bool {
		return !slices.Contains(users, user) || m.tired(user)
	})
	if len(outdated) == 0 {
		return nil
	}
	if err := m.fetchKeys(ctx, outdated); err != nil {
		return err
	}
	still, err := m.store.GetOutdatedTrackedUsers(ctx)
	if err != nil {
		return fmt.Errorf("list changed devices: %w", err)
	}
	for _, user := range outdated {
		if slices.Contains(still, user) {
			m.tire(user)
		}
	}
	return nil
}

// tired tells that a user was asked for a short while ago, in vain.
func (m *Machine) tired(user id.UserID) bool { return time.Since(m.asked[user]) < askAgain }

func (m *Machine) tire(user id.UserID) {
	if len(m.asked) >= 10_000 {
		clear(m.asked)
	}
	m.asked[user] = time.Now()
}

// deviceOf finds a user's device by its key, also one that is gone. One that is
// not known is asked for; nil when it is not known then.
func (m *Machine) deviceOf(ctx context.Context, user id.UserID, key id.IdentityKey) (*id.Device, error) {
	device, err := m.keys().FindDeviceByKey(ctx, user, key)
	if err != nil || device != nil {
		return device, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.refreshDevices(ctx, []id.UserID{user}); err != nil {
		return nil, err
	}
	device, err = m.store.FindDeviceByKey(ctx, user, key)
	if err != nil || device != nil || m.tired(user) {
		return device, err
	}
	m.tire(user)
	if err := m.fetchKeys(ctx, []id.UserID{user}); err != nil {
		return nil, err
	}
	return m.store.FindDeviceByKey(ctx, user, key)
}

// freshen asks for a user's devices and identity, unless they were asked for
// lately and have not changed since.
func (m *Machine) freshen(ctx context.Context, user id.UserID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.asked[user]) < lookAgain {
		return nil
	}
	m.tire(user)
	return m.fetchKeys(ctx, []id.UserID{user})
}

// answerRequest gives a device a key once more that it was given before. Only
// devices that are known and trusted are answered: strangers cannot have us ask
// for theirs.
func (m *Machine) answerRequest(ctx context.Context, user id.UserID, request *event.RoomKeyRequestEventContent) {
	device, err := m.store.GetDevice(ctx, user, request.RequestingDeviceID)
	if err != nil || device == nil {
		return
	}
	if yes, err := m.trusts(ctx, m.mach, device); err != nil || !yes {
		return
	}
	m.mach.HandleRoomKeyRequest(ctx, user, request)
}
