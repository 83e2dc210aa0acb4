package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"

	"matrix-tui/bot/matrix/e2ee"
)

// An encrypted event becomes one of these where it cannot be read: not yet, and
// not at all.
const (
	encryptedType       = "m.room.encrypted"
	verificationRequest = "m.key.verification.request" // a message's msgtype

	typeSealed     = ownTypes + "sealed"
	typeUnreadable = ownTypes + "unreadable"
)

// crypt is the encryption of the bot's device. It is closed and opened again
// after a new login.
type crypt struct {
	mu      sync.RWMutex // held by whoever uses the machine
	machine *e2ee.Machine
	plain   plainRows
	sealed  sealed
}

// use runs f with the machine.
func (c *crypt) use(f func(*e2ee.Machine) error) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.machine == nil {
		return errNoMachine
	}
	return f(c.machine)
}

var errNoMachine = errors.New("encryption is not open")

// openCrypt opens the encryption of the session that is logged in, anew where it
// was open: the homeserver forgets the keys of a session that was ended.
func (b *Bot) openCrypt(ctx context.Context) error {
	b.crypt.mu.Lock()
	defer b.crypt.mu.Unlock()
	if b.crypt.machine != nil {
		if err := b.crypt.machine.Close(); err != nil {
			b.log.Warn().Err(err).Msg("close encryption")
		}
		b.crypt.machine = nil
	}
	machine, err := e2ee.Open(ctx, e2ee.Config{
		Client: b.client, Dir: b.StateDir, Password: b.Password, Owner: b.isOwner, AllDevices: b.AllDevices,
		Log: b.log.Level(max(zerolog.InfoLevel, b.log.GetLevel())), // below, it tells what is sent
		ShowSAS: func(s e2ee.SAS) {
			b.log.Info().Str("user", s.User).Strs("emojis", s.Emojis).Ints("numbers", s.Decimals).
				Msg("verification: the person must see the same emojis")
		},
		KeyCame: func(k e2ee.Key) {
			for _, name := range append(b.crypt.sealed.came(k), k.Room) {
				b.room(name).wake()
			}
		},
	})
	if err != nil {
		return err
	}
	if b.client.DeviceID == "" {
		b.log.Warn().Msg("MATRIX_ACCESS_TOKEN belongs to no session of the account, and only a session can have keys: encrypted rooms cannot be read, and nothing is said in them. Set MATRIX_PASSWORD instead, or the token of a session that was made for the bot. Rooms in clear work")
	}
	if machine.RecoveryKey() != "" {
		b.log.Info().Str("file", "recovery-key").Msg("a recovery key for the account's keys was made and is in this file of the state folder: keep a copy")
	}
	b.crypt.machine = machine
	return nil
}

// closeCrypt ends the encryption; nobody uses it any more.
func (b *Bot) closeCrypt() {
	b.crypt.mu.Lock()
	defer b.crypt.mu.Unlock()
	if b.crypt.machine == nil {
		return
	}
	if err := b.crypt.machine.Close(); err != nil {
		b.log.Warn().Err(err).Msg("close encryption")
	}
	b.crypt.machine = nil
}

// takeKeys gives the encryption what a sync brought, before its events are
// looked at and before its token is kept.
func (b *Bot) takeKeys(ctx context.Context, since string, resp *syncResponse) error {
	return b.crypt.use(func(m *e2ee.Machine) error {
		if err := m.TakeSync(ctx, resp.Sync, since == ""); err != nil {
			return err
		}
		for name, joined := range resp.Rooms.Join {
			events := append(append([]json.RawMessage{}, joined.State.Events...), joined.Timeline.Events...)
			if err := m.TakeState(ctx, name, joined.Timeline.Limited, events); err != nil {
				return err
			}
		}
		return nil
	})
}

// encrypted tells whether what is said in a room must be encrypted.
func (b *Bot) encrypted(ctx context.Context, room string) (yes bool, err error) {
	err = b.crypt.use(func(m *e2ee.Machine) error {
		yes, err = m.IsEncrypted(ctx, room)
		return err
	})
	return yes, err
}

// sealError is a message that could not be encrypted for now: it is not sent.
type sealError struct{ err error }

func (e *sealError) Error() string { return e.err.Error() }
func (e *sealError) Unwrap() error { return e.err }

// send sends an event as the room wants it, encrypted or in clear. Whatever the
// bot says goes through here. An empty txn makes a new transaction.
func (b *Bot) send(ctx context.Context, room, kind, txn string, content any) (*mautrix.RespSendEvent, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("marshal message: %w", err)
	}
	var out json.RawMessage
	err = b.crypt.use(func(m *e2ee.Machine) error {
		kind, out, err = m.Encrypt(ctx, room, kind, data)
		return err
	})
	var http mautrix.HTTPError
	switch {
	case err == nil:
	case errors.Is(err, e2ee.ErrAlgorithm), errors.Is(err, e2ee.ErrNoDevice), errors.As(err, &http) && !transient(err):
		return nil, err
	default:
		return nil, &sealError{err}
	}
	return b.client.SendMessageEvent(ctx, roomID(room), event.NewEventType(kind), out, mautrix.ReqSendEvent{TransactionID: txn})
}
