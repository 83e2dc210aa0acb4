package e2ee

import (
	"context"
	"errors"
	"fmt"

	"maunium.net/go/mautrix"

	"matrix-tui/state/sentence"
)

// ErrOtherAccount means that crypto.db belongs to another account.
var ErrOtherAccount = errors.New("crypto.db belongs to another account")

// ErrForeignDevice means that the homeserver has keys for this device that are not in
// crypto.db. Other clients have seen them and accept no others, so only a new login
// with another device ID helps.
var ErrForeignDevice = errors.New("the device has keys that are not in crypto.db")

// ErrNoDevice means that the login belongs to no device. Nobody can send it keys, so
// it can neither read nor write in encrypted rooms.
var ErrNoDevice = errors.New("the login belongs to no device")

// deviceless reports whether the login belongs to no device.
func (m *core) deviceless() bool { return m.cfg.Client.DeviceID == "" }

// own makes sure that crypto.db belongs to this account and device. After a login as
// a new device it deletes the old device's keys, except those for reading old
// messages. m.mu is held.
func (m *uploads) own(ctx context.Context) error {
	user, device := m.cfg.Client.UserID.String(), m.cfg.Client.DeviceID.String()
	known, err := m.db.meta(ctx, "user")
	if err != nil {
		return fmt.Errorf("read crypto.db: %w", err)
	}
	if known != "" && known != user {
		return sentence.New(
			fmt.Errorf("%w: %s, not %s", ErrOtherAccount, known, user),
			"The keys in crypto.db belong to "+known+
				". Move crypto.db, crypto.key and recovery-key away, or log in as that account.")
	}
	store := newKeyStore(m.db, m.cfg.Client.DeviceID)
	before, err := store.FindDeviceID(ctx)
	if err != nil {
		return fmt.Errorf("read crypto.db: %w", err)
	}
	if before != "" && device != "" && before.String() != device {
		m.log.Warn().Stringer("before", before).Str("now", device).Msg("this is a new device: creating its keys")
		if err := store.renewDevice(ctx); err != nil {
			return err
		}
	}
	return m.db.setMeta(ctx, "user", user)
}

// publish uploads the device's keys unless the homeserver has them. m.mu is held.
func (m *uploads) publish(ctx context.Context) error {
	cli := m.cfg.Client
	resp, err := cli.QueryKeys(ctx, &mautrix.ReqQueryKeys{
		DeviceKeys: mautrix.DeviceKeysRequest{cli.UserID: {cli.DeviceID}},
	})
	if err != nil {
		return fmt.Errorf("fetch the keys of this device: %w", err)
	}
	account := m.mach.GetAccount()
	published, ok := resp.DeviceKeys[cli.UserID][cli.DeviceID]
	if ok && len(published.Keys) > 0 {
		if published.Keys.GetEd25519(cli.DeviceID) != account.SigningKey() ||
			published.Keys.GetCurve25519(cli.DeviceID) != account.IdentityKey() {
			return sentence.New(
				fmt.Errorf("%w: device %s", ErrForeignDevice, cli.DeviceID),
				"The session "+cli.DeviceID.String()+
					" has keys that are not in crypto.db. Restore crypto.db and crypto.key, or log in again (or set "+
					"MATRIX_ACCESS_TOKEN to the token of a new login) to create a new session.")
		}
		if account.Shared {
			return nil
		}
	}
	account.Shared = false // the homeserver forgot the keys when the device was logged out
	if err := m.shareKeys(ctx, 0); err != nil {
		return fmt.Errorf("upload the keys of this device: %w", err)
	}
	return m.forgetFallback(ctx)
}
