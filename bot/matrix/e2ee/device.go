package e2ee

import (
	"context"
	"errors"
	"fmt"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"

	"matrix-tui/state/sentence"
)

// ErrOtherAccount means that crypto.db is another account's.
var ErrOtherAccount = errors.New("crypto.db belongs to another account")

// ErrForeignDevice means that the homeserver has keys of this device that are
// not ours. Others have seen them and take no others: only a new login, with
// another device ID, helps.
var ErrForeignDevice = errors.New("the device has keys that are not in crypto.db")

// ErrNoDevice means that the login belongs to no device, so that nobody can send
// it a key: what is encrypted cannot be read, and nothing can be said in
// encrypted rooms.
var ErrNoDevice = errors.New("the login belongs to no device")

// deviceless tells that there is no device.
func (m *Machine) deviceless() bool { return m.cfg.Client.DeviceID == "" }

// own sees to it that crypto.db is this account's and this device's. After a
// login as a new device it starts anew with that one, and keeps what it needs
// to read old messages; m.mu is held.
func (m *Machine) own(ctx context.Context) error {
	user, device := m.cfg.Client.UserID.String(), m.cfg.Client.DeviceID.String()
	known, err := m.db.meta(ctx, "user")
	if err != nil {
		return fmt.Errorf("read crypto.db: %w", err)
	}
	if known != "" && known != user {
		return sentence.New(
			fmt.Errorf("%w: %s, not %s", ErrOtherAccount, known, user),
			"The keys in crypto.db belong to "+known+". Move crypto.db, crypto.key and recovery-key away, or log in as that account.")
	}
	store := newKeyStore(m.db, m.cfg.Client.DeviceID)
	before, err := store.FindDeviceID(ctx)
	if err != nil {
		return fmt.Errorf("read crypto.db: %w", err)
	}
	if before != "" && device != "" && before.String() != device {
		m.log.Warn().Stringer("before", before).Str("now", device).Msg("this is a new device: it gets keys of its own")
		if err := store.renewDevice(ctx); err != nil {
			return err
		}
	}
	return m.db.setMeta(ctx, "user", user)
}

// publish gives the homeserver the device's keys, unless it has them; m.mu is held.
func (m *Machine) publish(ctx context.Context) error {
	cli := m.cfg.Client
	resp, err := cli.QueryKeys(ctx, &mautrix.ReqQueryKeys{
		DeviceKeys: mautrix.DeviceKeysRequest{cli.UserID: {cli.DeviceID}},
	})
	if err != nil {
		return fmt.Errorf("ask for the keys of this device: %w", err)
	}
	account := m.mach.GetAccount()
	published, ok := resp.DeviceKeys[cli.UserID][cli.DeviceID]
	if ok && len(published.Keys) > 0 {
		if published.Keys.GetEd25519(cli.DeviceID) != account.SigningKey() || published.Keys.GetCurve25519(cli.DeviceID) != account.IdentityKey() {
			return sentence.New(
				fmt.Errorf("%w: device %s", ErrForeignDevice, cli.DeviceID),
				"The session "+cli.DeviceID.String()+" encrypts with keys that are not in crypto.db. Log in anew (or set MATRIX_ACCESS_TOKEN to the token of a new login), so that it becomes a session of its own, or bring crypto.db and crypto.key back.")
		}
		if account.Shared {
			return nil
		}
	}
	account.Shared = false // a homeserver forgets the keys of a device that is logged out
	if err := m.mach.ShareKeys(ctx, 0); err != nil {
		return fmt.Errorf("upload the keys of this device: %w", err)
	}
	return m.forgetFallback(ctx)
}

// Status is what can be told of the device.
type Status struct {
	Device      string // device ID
	Fingerprint string // of the device's signing key, in groups of four
	Signed      bool   // the account's cross-signing key vouches for it, as the homeserver shows it to others
	Problem     string // why it is not signed, for people; "" when it is
}

// Verified asks the homeserver what others see of this device.
func (m *Machine) Verified(ctx context.Context) (Status, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deviceless() {
		return Status{}, ErrNoDevice
	}
	s := Status{Device: m.cfg.Client.DeviceID.String(), Fingerprint: m.mach.Fingerprint()}
	if err := m.fetchKeys(ctx, []id.UserID{m.cfg.Client.UserID}); err != nil {
		return s, fmt.Errorf("ask for our own keys: %w", err)
	}
	has, signed, err := m.mach.GetOwnVerificationStatus(ctx)
	if err != nil {
		return s, fmt.Errorf("check our own keys: %w", err)
	}
	s.Signed = has && signed
	if !s.Signed {
		s.Problem = m.problem
		if s.Problem == "" {
			s.Problem = "The account's cross-signing key has not signed this device."
		}
	}
	return s, nil
}
