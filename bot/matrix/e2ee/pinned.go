package e2ee

import (
	"context"
	"fmt"

	"go.mau.fi/util/dbutil"
	"maunium.net/go/mautrix/id"
)

// A user may have no cross-signing identity at the first contact. Then the devices of that
// moment are pinned, and FirstSeen trusts them until it trusts an identity of the user. An
// identity that appears later is trusted once a pinned device has signed it, which clients
// do when they create an identity and when they verify each other. So a homeserver that
// adds a device or an identity after the first contact gains nothing; one that does so
// before goes unnoticed. Until an identity is trusted, its first_seen_key is empty.

// trustsPins is the condition under which the pinned devices of $1 count.
const trustsPins = "NOT EXISTS (SELECT 1 FROM crypto_cross_signing_keys WHERE user_id=$1 AND usage='master' AND " +
	"first_seen_key<>'')"

// pin stores the present devices of a user without an identity, at the first contact only.
// It trusts an identity that one of them has signed.
func (s *keyStore) pin(ctx context.Context, user id.UserID) error {
	if s.pins == "" {
		return nil
	}
	_, err := s.DB.Exec(ctx, `INSERT INTO e2ee_pinned (user, device, identity_key, signing_key)
		SELECT user_id, device_id, identity_key, signing_key FROM crypto_device WHERE user_id=$1 AND deleted=false
		AND NOT EXISTS (SELECT 1 FROM crypto_cross_signing_keys WHERE user_id=$1 AND usage='master')
		AND NOT EXISTS (SELECT 1 FROM e2ee_pinned WHERE user=$1)`, user)
	if err != nil {
		return fmt.Errorf("pin devices of %s: %w", user, err)
	}
	_, err = s.DB.Exec(ctx, `UPDATE crypto_cross_signing_keys SET first_seen_key=key
		WHERE user_id=$1 AND usage='master' AND first_seen_key='' AND EXISTS (
			SELECT 1 FROM e2ee_pinned p JOIN crypto_cross_signing_signatures s ON s.signer_user_id=p.user AND s.signer_key=p.signing_key
			WHERE p.user=$1 AND s.signed_user_id=$1 AND s.signed_key=crypto_cross_signing_keys.key AND s.signer_key<>s.signed_key)`, user)
	if err != nil {
		return fmt.Errorf("trust identity of %s: %w", user, err)
	}
	return nil
}

// doubt stores the first identity of a user with pinned devices as one that is not trusted.
func (s *keyStore) doubt(ctx context.Context, user id.UserID, usage id.CrossSigningUsage, key id.Ed25519) error {
	if s.pins == "" {
		return nil
	}
	_, err := s.DB.Exec(ctx, `INSERT INTO crypto_cross_signing_keys (user_id, usage, key, first_seen_key)
		SELECT $1, $2, $3, '' WHERE $2='master' AND EXISTS (SELECT 1 FROM e2ee_pinned WHERE user=$1)
		ON CONFLICT (user_id, usage) DO NOTHING`, user, usage, key)
	return err
}

// trustPinned marks those devices of a user as verified that are pinned and count.
func (s *keyStore) trustPinned(ctx context.Context, user id.UserID, devices map[id.DeviceID]*id.Device) error {
	if s.pins == "" || user == s.pins || len(devices) == 0 {
		return nil
	}
	rows, err := s.DB.Query(ctx, "SELECT device, identity_key, signing_key FROM e2ee_pinned WHERE user=$1 AND "+trustsPins,
		user)
	pinned, err := dbutil.NewRowIterWithError(rows, func(row dbutil.Scannable) (d id.Device, err error) {
		return d, row.Scan(&d.DeviceID, &d.IdentityKey, &d.SigningKey)
	}, err).AsList()
	if err != nil {
		return fmt.Errorf("list pinned devices of %s: %w", user, err)
	}
	for _, pin := range pinned {
		if d := devices[pin.DeviceID]; d != nil && d.Trust == id.TrustStateUnset && d.IdentityKey == pin.IdentityKey &&
			d.SigningKey == pin.SigningKey {
			d.Trust = id.TrustStateVerified
		}
	}
	return nil
}

// GetDevices is part of crypto.Store.
func (s *keyStore) GetDevices(ctx context.Context, user id.UserID) (map[id.DeviceID]*id.Device, error) {
	devices, err := s.SQLCryptoStore.GetDevices(ctx, user)
	if err != nil {
		return nil, err
	}
	return devices, s.trustPinned(ctx, user, devices)
}

// GetDevice is part of crypto.Store.
func (s *keyStore) GetDevice(ctx context.Context, user id.UserID, name id.DeviceID) (*id.Device, error) {
	device, err := s.SQLCryptoStore.GetDevice(ctx, user, name)
	return s.withPin(ctx, device, err)
}

// FindDeviceByKey is part of crypto.Store.
func (s *keyStore) FindDeviceByKey(ctx context.Context, user id.UserID, key id.IdentityKey) (*id.Device, error) {
	device, err := s.SQLCryptoStore.FindDeviceByKey(ctx, user, key)
	return s.withPin(ctx, device, err)
}

func (s *keyStore) withPin(ctx context.Context, device *id.Device, err error) (*id.Device, error) {
	if err != nil || device == nil {
		return nil, err
	}
	return device, s.trustPinned(ctx, device.UserID, map[id.DeviceID]*id.Device{device.DeviceID: device})
}
