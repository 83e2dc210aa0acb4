package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state/event"
)

var errNoMachine = errors.New("encryption is not open")

// use runs f with the machine.
func (a *Account) use(f func(*e2ee.Machine) error) error {
	a.cryptMu.RLock()
	defer a.cryptMu.RUnlock()
	if a.machine == nil {
		return errNoMachine
	}
	return f(a.machine)
}

// e2eeConfig is the account's, for its present device.
func (a *Account) e2eeConfig() e2ee.Config {
	return e2ee.Config{
		Client: a.client, Dir: a.cfg.StateDir, Password: a.cfg.Password, Owner: a.cfg.Owner, AllDevices: a.cfg.AllDevices,
		Log: a.log.Level(max(zerolog.InfoLevel, a.log.GetLevel())), // below, it tells what is sent
		ShowSAS: func(s e2ee.SAS) {
			a.log.Info().Str("user", s.User).Strs("emojis", s.Emojis).Ints("numbers", s.Decimals).
				Msg("verification: the person must see the same emojis")
		},
		KeyCame: a.cfg.KeyCame,
	}
}

// openCrypt opens the encryption of the session that is logged in, anew where it
// was open: the homeserver forgets the keys of a session that was ended.
func (a *Account) openCrypt(ctx context.Context) error {
	a.cryptMu.Lock()
	defer a.cryptMu.Unlock()
	a.closeMachine()
	machine, err := e2ee.Open(ctx, a.e2eeConfig())
	if err != nil {
		return err
	}
	if a.client.DeviceID == "" {
		a.log.Warn().Msg("MATRIX_ACCESS_TOKEN belongs to no session of the account, and only a session can have keys: encrypted rooms cannot be read, and nothing is said in them. Set MATRIX_PASSWORD instead, or the token of a session that was made for the bot. Rooms in clear work")
	}
	if machine.RecoveryKey() != "" {
		a.log.Info().Str("file", "recovery-key").Msg("a recovery key for the account's keys was made and is in this file of the state folder: keep a copy")
	}
	a.machine = machine
	return nil
}

// Close ends the encryption; nobody uses the account any more.
func (a *Account) Close() {
	a.cryptMu.Lock()
	defer a.cryptMu.Unlock()
	a.closeMachine()
}

func (a *Account) closeMachine() {
	if a.machine == nil {
		return
	}
	if err := a.machine.Close(); err != nil {
		a.log.Warn().Err(err).Msg("close encryption")
	}
	a.machine = nil
}

// TakeKeys gives the encryption what a sync brought, before its events are
// looked at and before its token is kept.
func (a *Account) TakeKeys(ctx context.Context, resp *Sync) error {
	return a.use(func(m *e2ee.Machine) error {
		if err := m.TakeSync(ctx, resp.keys, resp.Since == ""); err != nil {
			return err
		}
		for name, joined := range resp.Joined {
			events := slices.Concat(joined.State, joined.Timeline)
			if err := m.TakeState(ctx, name, joined.Limited, events); err != nil {
				return err
			}
		}
		return nil
	})
}

// Tend gives the homeserver what a sync says it lacks of our keys, once the
// batch is committed.
func (a *Account) Tend(ctx context.Context, resp *Sync) error {
	return a.use(func(m *e2ee.Machine) error {
		m.Tend(ctx, resp.keys)
		return nil
	})
}

// KnownEncrypted tells of each joined room of a sync whether it is known to be
// encrypted, without asking the homeserver.
func (a *Account) KnownEncrypted(ctx context.Context, resp *Sync) (map[string]bool, error) {
	known := map[string]bool{}
	err := a.use(func(m *e2ee.Machine) error {
		for name := range resp.Joined {
			encrypted, err := m.KnownEncrypted(ctx, name)
			if err != nil {
				return err
			}
			known[name] = encrypted
		}
		return nil
	})
	return known, err
}

// IsEncrypted tells whether what is said in a room must be encrypted.
func (a *Account) IsEncrypted(ctx context.Context, room string) (yes bool, err error) {
	err = a.use(func(m *e2ee.Machine) error {
		yes, err = m.IsEncrypted(ctx, room)
		return err
	})
	return yes, err
}

// RequestKey asks the sender's devices, and our own others, for a key.
func (a *Account) RequestKey(ctx context.Context, sender string, key e2ee.Key) error {
	return a.use(func(m *e2ee.Machine) error { return m.RequestKey(ctx, key.Room, sender, key.Session) })
}

// TakeVerification gives the encryption an event of a verification of this
// device, as it came or as it was decrypted. Others are none of its business.
func (a *Account) TakeVerification(ctx context.Context, e event.Event) error {
	return a.use(func(m *e2ee.Machine) error {
		m.TakeVerification(ctx, e)
		return nil
	})
}

// notEncrypted is a message that could not be encrypted for now.
type notEncrypted struct{ err error }

func (e *notEncrypted) Error() string { return fmt.Sprintf("encrypt message: %v", e.err) }
func (e *notEncrypted) Unwrap() error { return e.err }

// IsNotEncrypted tells a message that was not sent, because it could not be
// encrypted for now.
func IsNotEncrypted(err error) bool { return errors.As(err, new(*notEncrypted)) }
