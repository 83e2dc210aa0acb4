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
	askAgain = time.Minute // pause before devices are requested again after a failure
	// lookAgain is the pause before a user's untrusted devices are requested again,
	// unless the homeserver reports a change.
	lookAgain = time.Hour
)

// refreshDevices fetches the devices of those users whose device lists have changed.
// If a user's homeserver does not answer, the known devices stay and are requested
// again after askAgain. m.mu is held.
func (m *Machine) refreshDevices(ctx context.Context, users []id.UserID) error {
	outdated, err := m.store.GetOutdatedTrackedUsers(ctx)
	if err != nil {
		return fmt.Errorf("list changed devices: %w", err)
	}
	outdated = slices.DeleteFunc(outdated, func(user id.UserID) bool {
		return !slices.Contains(users, user) || m.askedRecently(user)
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
			m.noteAsked(user)
		}
	}
	return nil
}

// askedRecently reports whether a user's devices were requested in vain within askAgain.
func (m *Machine) askedRecently(user id.UserID) bool { return time.Since(m.asked[user]) < askAgain }

func (m *Machine) noteAsked(user id.UserID) {
	if len(m.asked) >= 10_000 {
		clear(m.asked)
	}
	m.asked[user] = time.Now()
}

// deviceOf returns a user's device by its key, including deleted ones, or nil. It
// fetches the user's devices if the key is not known.
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
	if err != nil || device != nil || m.askedRecently(user) {
		return device, err
	}
	m.noteAsked(user)
	if err := m.fetchKeys(ctx, []id.UserID{user}); err != nil {
		return nil, err
	}
	return m.store.FindDeviceByKey(ctx, user, key)
}

// refreshUser fetches a user's devices and identity unless that was done within lookAgain.
func (m *Machine) refreshUser(ctx context.Context, user id.UserID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.asked[user]) < lookAgain {
		return nil
	}
	m.noteAsked(user)
	return m.fetchKeys(ctx, []id.UserID{user})
}

// answerRequest sends a key again to a device that it was sent to before. It answers
// only known and trusted devices and fetches none, so that a stranger cannot make us
// send requests.
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
