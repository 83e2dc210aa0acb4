package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

var (
	// ErrNoKeys means that the account has no encryption yet, because it has not logged in.
	ErrNoKeys = errors.New("encryption is not open")
	errClosed = errors.New("encryption is closed")
)

// use calls f with the machine, or returns ErrNoKeys or errClosed.
func (a *core) use(f func(*e2ee.Machine) error) error {
	a.cryptMu.RLock()
	defer a.cryptMu.RUnlock()
	switch {
	case a.machine == nil && a.opened:
		return errClosed
	case a.machine == nil:
		return ErrNoKeys
	}
	err := f(a.machine)
	a.machine.NoteDamage(err)
	return err
}

// ask is use for what returns a yes or no.
func (a *core) ask(f func(*e2ee.Machine) (bool, error)) (yes bool, err error) {
	err = a.use(func(m *e2ee.Machine) error {
		yes, err = f(m)
		return err
	})
	return yes, err
}

// e2eeConfig returns the configuration of the encryption for the current device.
func (a *Account) e2eeConfig() e2ee.Config {
	return e2ee.Config{
		Client: a.client, Dir: a.cfg.StateDir, Password: a.cfg.Password, Owner: a.cfg.Owner, Devices: a.cfg.Devices,
		Log: a.log.Level(max(zerolog.InfoLevel, a.log.GetLevel())), // below that, it would log content
		ShowSAS: func(s e2ee.SAS) {
			a.log.Info().Str("user", s.User).Strs("emojis", s.Emojis).Ints("numbers", s.Decimals).
				Msg("verification: the person must see the same emojis")
		},
		KeyArrived: a.cfg.KeyArrived, Damaged: a.cfg.Damaged, Replaced: a.cfg.Replaced,
	}
}

// openCrypt makes a session the current one and opens its encryption. It closes one that
// is open, because the homeserver forgets the keys of a session that was logged out.
func (a *Account) openCrypt(ctx context.Context, s session) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	a.lockCrypt()
	defer a.cryptMu.Unlock()
	a.closeMachine()
	a.opened = true
	a.become(s)
	machine, err := e2ee.Open(ctx, a.e2eeConfig())
	if err != nil {
		return err
	}
	if a.client.DeviceID == "" && !a.keysLost {
		a.log.Warn().Msg("MATRIX_ACCESS_TOKEN belongs to no session of the account, so the bot has no keys and cannot read " +
			"or write in encrypted rooms. Set MATRIX_PASSWORD instead, or the token of a session made for the bot. " +
			"Unencrypted rooms work")
	}
	if machine.RecoveryKey() != "" {
		a.log.Info().Str("file", "recovery-key").
			Msg("created a recovery key for the account's keys in this file of the state directory: keep a copy")
	}
	a.machine = machine
	return nil
}

// Keep signs the device of the session later if it could not be signed because the
// homeserver had trouble or refused something. It returns when ctx ends.
func (a Keys) Keep(ctx context.Context) {
	for again := retry.New(time.Minute, time.Hour); retry.Sleep(ctx, again.Next()) == nil; {
		err := a.use(func(m *e2ee.Machine) error {
			if signable(m.Unsigned()) {
				return m.SignAgain(ctx)
			}
			again.Reset()
			return nil
		})
		if err != nil && ctx.Err() == nil {
			a.log.Warn().Err(err).Msg("cannot sign the device")
		}
	}
}

// signable reports whether the homeserver may let us sign the device later, after err.
func signable(err error) bool {
	return Transient(err) || IsAnswer(err) && !errors.Is(err, e2ee.ErrPassword)
}

// Close closes the encryption. The account must not be used afterwards.
func (a *Account) Close() {
	a.lockCrypt()
	defer a.cryptMu.Unlock()
	a.closeMachine()
}

// lockCrypt locks the encryption for a change. It first ends the requests of the machine
// that wait for other homeservers: everybody else would wait for them, too.
func (a *Account) lockCrypt() {
	a.cryptMu.RLock()
	if a.machine != nil {
		a.machine.Stop()
	}
	a.cryptMu.RUnlock()
	a.cryptMu.Lock()
}

func (a *Account) closeMachine() {
	if a.machine == nil {
		return
	}
	if err := a.machine.Close(); err != nil {
		a.log.Warn().Err(err).Msg("cannot close the encryption")
	}
	a.machine = nil
}

// Process passes the keys and state events of a sync to the encryption. Call it
// before decrypting the events and before storing the sync token.
func (a Keys) Process(ctx context.Context, resp *Sync) error {
	return a.use(func(m *e2ee.Machine) error {
		if err := m.ProcessSync(ctx, resp.keys, resp.Since == ""); err != nil {
			return err
		}
		for name, joined := range resp.Joined {
			events := slices.Concat(joined.State, joined.Timeline)
			if err := m.ProcessState(ctx, name, joined.Limited, events); err != nil {
				return err
			}
		}
		return nil
	})
}

// AfterCommit uploads the keys that the homeserver needs according to a sync. Call
// it after the batch is committed.
func (a Keys) AfterCommit(ctx context.Context, resp *Sync) error {
	return a.use(func(m *e2ee.Machine) error {
		m.AfterCommit(ctx, resp.keys)
		return nil
	})
}

// KnownEncrypted reports which of a sync's joined rooms are known to be encrypted,
// without asking the homeserver.
func (a Keys) KnownEncrypted(ctx context.Context, resp *Sync) (map[string]bool, error) {
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

// IsEncrypted reports whether messages to a room must be encrypted. It may ask the
// homeserver.
func (a Keys) IsEncrypted(ctx context.Context, room string) (bool, error) {
	return a.ask(func(m *e2ee.Machine) (bool, error) { return m.IsEncrypted(ctx, room) })
}

// Unverified reports whether a room is encrypted and has members with sessions that do not get
// its keys.
func (a Keys) Unverified(ctx context.Context, room string) (bool, error) {
	return a.ask(func(m *e2ee.Machine) (bool, error) { return m.Unverified(ctx, room) })
}

// HasIdentity reports whether one of the users has a cross-signing identity, as far as the
// encryption knows.
func (a Keys) HasIdentity(ctx context.Context, users []string) (bool, error) {
	yes, err := a.ask(func(m *e2ee.Machine) (bool, error) { return m.HasIdentity(ctx, users) })
	if errors.Is(err, ErrNoKeys) {
		return false, nil
	}
	return yes, err
}

// Request requests a key from the sender's devices and from the account's other
// devices.
func (a Keys) Request(ctx context.Context, sender string, key e2ee.Key) error {
	return a.use(func(m *e2ee.Machine) error { return m.RequestKey(ctx, key.Room, sender, key.Session) })
}

// ProcessVerification passes an event of a device verification to the encryption,
// decrypted if it was encrypted. It ignores other events.
func (a Keys) ProcessVerification(ctx context.Context, e event.Event) error {
	return a.use(func(m *e2ee.Machine) error {
		m.ProcessVerification(ctx, e)
		return nil
	})
}

// notEncrypted means that a message cannot be encrypted at the moment.
type notEncrypted struct{ err error }

func (e *notEncrypted) Error() string { return fmt.Sprintf("encrypt message: %v", e.err) }
func (e *notEncrypted) Unwrap() error { return e.err }

// IsNotEncrypted reports whether a message was not sent because it cannot be
// encrypted at the moment.
func IsNotEncrypted(err error) bool { return errors.As(err, new(*notEncrypted)) }
