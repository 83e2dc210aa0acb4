package e2ee

import (
	"context"
	"errors"
	"fmt"

	"maunium.net/go/mautrix/id"

	wire "matrix-tui/state/event"
)

// Distrust says why a device is not trusted.
type Distrust string

// Rule says which devices are trusted.
type Rule string

const (
	// FirstSeen trusts cross-signed devices and, for users without a trusted identity, the
	// devices that they had at the first contact.
	FirstSeen   Rule = "first-seen"
	CrossSigned Rule = "cross-signed" // only devices that their user's identity has signed
	AllDevices  Rule = "all"          // every device that the homeserver lists
)

const (
	NotSigned       Distrust = "device not cross-signed" // not signed by its user's identity
	NoIdentity      Distrust = "no cross-signing identity"
	IdentityChanged Distrust = "identity changed since it was first seen"
	NewDevice       Distrust = "new device of a user without an identity"
	NewIdentity     Distrust = "identity not confirmed by a known device"
)

// UntrustedDeviceError means that the device that encrypted an event is not trusted. It
// goes away when the user verifies the device, which calls KeyArrived, or when the
// operator accepts the user's new identity, which happens in another process, so try
// again from time to time.
type UntrustedDeviceError struct {
	Key
	Sender, Device string
	Reason         Distrust
}

func (e *UntrustedDeviceError) Error() string {
	return fmt.Sprintf("device %s of %s is not trusted: %s", e.Device, e.Sender, e.Reason)
}

// applyRule deletes the outgoing room keys if the setting has changed, because devices
// that are no longer trusted may have them. m.mu is held.
func (m *core) applyRule(ctx context.Context) error {
	before, err := m.db.meta(ctx, "devices")
	if err != nil {
		return fmt.Errorf("read crypto.db: %w", err)
	}
	if before == string(m.cfg.Devices) {
		return nil
	}
	return m.db.DoTxn(ctx, nil, func(ctx context.Context) error {
		if _, err := m.db.Exec(ctx, "DELETE FROM crypto_megolm_outbound_session"); err != nil {
			return fmt.Errorf("delete room keys: %w", err)
		}
		return m.db.setMeta(ctx, "devices", string(m.cfg.Devices))
	})
}

// trusts reports whether a device may get room keys and speak for its user. m.mu is held.
func (m *core) trusts(ctx context.Context, device *id.Device) (bool, error) {
	own := device.UserID == m.cfg.Client.UserID && device.SigningKey == m.mach.GetAccount().SigningKey()
	if m.cfg.Devices == AllDevices || own {
		return true, nil
	}
	trust, err := m.mach.ResolveTrustContext(m.log.WithContext(ctx), device)
	if err != nil {
		return false, fmt.Errorf("check device %s of %s: %w", device.DeviceID, device.UserID, err)
	}
	return trust >= id.TrustStateCrossSignedTOFU, nil
}

// verified returns Verified if the users' trusted identities have signed these trusted devices,
// else Decrypted. A pinned device counts only while its user has no such identity. It fetches the
// devices of a user again whose signature may be new.
func (m *decrypter) verified(ctx context.Context, devices ...*id.Device) (wire.Encryption, error) {
	for _, device := range devices {
		signed, err := m.isSigned(ctx, device)
		if err == nil && !signed && m.people.refreshUser(ctx, device.UserID) == nil {
			signed, err = m.isSigned(ctx, device)
		}
		if err != nil {
			return "", err
		}
		if !signed {
			return wire.Decrypted, nil
		}
	}
	return wire.Verified, nil
}

// isSigned reports whether the device's user has a trusted identity that has signed it.
func (m *core) isSigned(ctx context.Context, device *id.Device) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	trust, err := m.mach.ResolveTrustContext(m.log.WithContext(ctx), device)
	if err != nil {
		return false, fmt.Errorf("check device %s of %s: %w", device.DeviceID, device.UserID, err)
	}
	return trust >= id.TrustStateCrossSignedTOFU && trust != id.TrustStateVerified, nil
}

// HasIdentity reports whether one of the users has a cross-signing identity that is trusted. It
// asks only crypto.db, which knows the people in encrypted rooms.
func (m *core) HasIdentity(ctx context.Context, users []string) (bool, error) {
	for _, user := range users {
		keys, err := m.keys().GetCrossSigningKeys(ctx, id.UserID(user))
		if err != nil {
			return false, fmt.Errorf("read identity of %s: %w", user, err)
		}
		if keys[id.XSUsageMaster].First != "" {
			return true, nil
		}
	}
	return false, nil
}

// requireTrust returns nil if a sender's device is trusted, else *UntrustedDeviceError.
// Before it refuses, it fetches the user's keys, which may be out of date.
func (m *decrypter) requireTrust(ctx context.Context, device *id.Device, key Key) error {
	trusts := func() (bool, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.trusts(ctx, device)
	}
	trusted, err := trusts()
	if err != nil || trusted {
		return err
	}
	if err := m.people.refreshUser(ctx, device.UserID); err != nil {
		return err
	}
	if trusted, err = trusts(); err != nil || trusted {
		return err
	}
	reason, err := m.distrust(ctx, device.UserID)
	if err != nil {
		return err
	}
	return &UntrustedDeviceError{Key: key, Sender: device.UserID.String(), Device: device.DeviceID.String(),
		Reason: reason}
}

// distrust returns why a user's device is not trusted.
func (m *core) distrust(ctx context.Context, user id.UserID) (Distrust, error) {
	keys, err := m.keys().GetCrossSigningKeys(ctx, user)
	if err != nil {
		return "", fmt.Errorf("read identity of %s: %w", user, err)
	}
	switch master, ok := keys[id.XSUsageMaster]; {
	case !ok && m.cfg.Devices == FirstSeen && user != m.cfg.Client.UserID:
		return NewDevice, nil
	case !ok:
		return NoIdentity, nil
	case master.First == "":
		return NewIdentity, nil
	case master.Key != master.First:
		return IdentityChanged, nil
	}
	return NotSigned, nil
}

// waits reports whether an event that could not be decrypted may be decrypted later.
func waits(err error) bool {
	return errors.As(err, new(*NoKeyError)) || errors.As(err, new(*UntrustedDeviceError))
}

// trustedDevices returns those of a user's devices that are trusted. m.mu is held.
func (m *core) trustedDevices(ctx context.Context, user id.UserID) (map[id.DeviceID]bool, error) {
	devices, err := m.store.GetDevices(ctx, user)
	if err != nil {
		return nil, fmt.Errorf("list devices of %s: %w", user, err)
	}
	trusted := map[id.DeviceID]bool{}
	for _, device := range devices {
		yes, err := m.trusts(ctx, device)
		if err != nil {
			return nil, err
		}
		if yes {
			trusted[device.DeviceID] = true
		}
	}
	return trusted, nil
}

// Unverified reports whether a room is encrypted and members other than us have devices that
// do not get its keys. It fetches what it does not know.
func (m *sender) Unverified(ctx context.Context, room string) (bool, error) {
	encrypted, err := m.members.IsEncrypted(ctx, room)
	if err != nil || !encrypted || m.deviceless() {
		return false, err
	}
	if err := m.members.learnMembers(ctx, id.RoomID(room)); err != nil {
		return false, err
	}
	users, err := m.rooms.readers(ctx, id.RoomID(room))
	if err != nil {
		return false, err
	}
	if err := m.people.refreshDevices(ctx, users); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, user := range users {
		if user == m.cfg.Client.UserID {
			continue
		}
		devices, err := m.store.GetDevices(ctx, user)
		if err != nil {
			return false, fmt.Errorf("list devices of %s: %w", user, err)
		}
		trusted, err := m.trustedDevices(ctx, user)
		if err != nil || len(trusted) < len(devices) {
			return err == nil, err
		}
	}
	return false, nil
}
