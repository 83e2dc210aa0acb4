// Package e2ee is the end-to-end encryption of one Matrix device. It keeps the
// device's keys in crypto.db, processes what each /sync brings, and encrypts and
// decrypts room events.
//
// It has no sync loop and sends no messages; its caller does. What a method has
// accepted is on disk when it returns, so the caller may commit the sync token
// afterwards. Processing the same batch again changes nothing.
//
// Room keys go only to devices that their user's cross-signing identity has
// signed, and only messages from such devices are decrypted; the first identity
// seen of a user is pinned, so that a homeserver can invent neither a device nor
// an identity. Element does the same (MSC4153) and makes its users verify their
// sessions, so with Element this costs nobody anything. Config.AllDevices is for
// people whose clients cannot cross-sign.
package e2ee

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// Config says whose device this is and where its keys are.
type Config struct {
	// Client is logged in: UserID, DeviceID and AccessToken are set. Its Crypto
	// field stays nil: nothing is encrypted behind anybody's back. Without a
	// DeviceID the machine knows which rooms are encrypted, and that is all: see
	// ErrNoDevice.
	Client *mautrix.Client
	// Dir is the folder of crypto.db, crypto.key and recovery-key, all mode 0600.
	Dir string
	// Password of the account, which a homeserver may ask for before it takes
	// cross-signing keys; "" when there is none.
	Password string
	// NoCrossSigning leaves the account's cross-signing keys alone.
	NoCrossSigning bool
	// AllDevices trusts every device that the homeserver tells of, instead of
	// those that their users have cross-signed.
	AllDevices bool
	// Owner tells whose verification is accepted; nil accepts nobody's.
	Owner func(user string) bool
	// ShowSAS is told what a person who verifies this device must see too. It is
	// called within ProcessSync or ProcessVerification and must not wait for them.
	ShowSAS func(SAS)
	// KeyArrived is told that a key is there which Decrypt has missed, or that the
	// devices of its author have changed. It is called within ProcessSync, after the
	// key is on disk, and must not wait.
	KeyArrived func(Key)
	Log        zerolog.Logger
}

// Key names the key of some of a room's messages: a megolm session.
type Key struct{ Room, Session string }

// Machine is the encryption of one device. All methods may be called at the
// same time.
type Machine struct {
	cfg   Config
	log   zerolog.Logger
	db    *database
	rooms *rooms

	mu      sync.Mutex // guards what follows, and all that touches olm sessions
	mach    *crypto.OlmMachine
	verify  *verifier
	asked   map[id.UserID]time.Time // when users were asked for in vain
	counted time.Time               // when the homeserver was asked how many one-time keys it has
	offered time.Time               // when it did not take a fallback key
	tended  bool                    // a batch was committed since Open
	asking  []*event.Event          // for keys, in the batch before that

	unreached map[id.RoomID]*unreached // by room, of its present key
	recovery  string                   // made by this Open
	problem   string                   // why the device is not signed

	readMu sync.Mutex         // guards what follows; taken after mu
	store  *keyStore          // replaced under both locks
	reader *crypto.OlmMachine // decrypts room events only, and never asks the server

	missing missing
}

// Open loads the device's keys, or makes them, and sees to it that the
// homeserver has them. It refuses with ErrOtherAccount and ErrForeignDevice; an
// error of the network is mautrix's own and may be gone later.
func Open(ctx context.Context, cfg Config) (*Machine, error) {
	if cfg.Client.UserID == "" {
		return nil, errors.New("open encryption: the client is not logged in")
	}
	m := &Machine{
		cfg: cfg, log: cfg.Log.With().Str("part", "e2ee").Logger(),
		asked: map[id.UserID]time.Time{}, unreached: map[id.RoomID]*unreached{}, missing: missing{wanted: map[Key]id.UserID{}},
	}
	db, err := openDatabase(ctx, cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("open encryption: %w", err)
	}
	m.db = db
	m.rooms = &rooms{db: db.Database}
	if err := m.start(ctx); err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("open encryption: %w", err)
	}
	return m, nil
}

func (m *Machine) start(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.own(ctx); err != nil {
		return err
	}
	if m.deviceless() {
		m.readMu.Lock()
		defer m.readMu.Unlock()
		m.store = newKeyStore(m.db, "")
		return nil
	}
	if err := m.applyRule(ctx); err != nil {
		return err
	}
	if err := m.load(ctx); err != nil {
		return err
	}
	if err := m.publish(ctx); err != nil {
		return err
	}
	if m.cfg.NoCrossSigning {
		return nil
	}
	return m.crossSign(ctx)
}

// load makes the machines from what is on disk; m.mu is held. After a
// transaction that was rolled back, memory is ahead of the disk: load again.
func (m *Machine) load(ctx context.Context) error {
	if m.mach != nil {
		m.mach.Destroy()
	}
	cli := m.cfg.Client
	store := newKeyStore(m.db, cli.DeviceID)
	mach := crypto.NewOlmMachine(cli, &m.log, store, m.rooms)
	mach.DisableDecryptKeyFetching = true // no requests within a transaction
	if !m.cfg.AllDevices {
		mach.SendKeysMinTrust = id.TrustStateCrossSignedTOFU
	}
	mach.SessionReceived = func(_ context.Context, room id.RoomID, session id.SessionID, _ uint32) {
		m.missing.arrived(Key{room.String(), session.String()})
	}
	reader := crypto.NewOlmMachine(cli, &m.log, store, m.rooms)
	reader.DisableDecryptKeyFetching = true
	reader.DisableRatchetTracking = true
	reader.IgnorePostDecryptionParseErrors = true // what people write is not ours to judge
	for _, machine := range []*crypto.OlmMachine{mach, reader} {
		if err := machine.Load(ctx); err != nil {
			return fmt.Errorf("load account: %w", err)
		}
	}
	mach.GetAccount().Keys() // kept from now on: both machines only read them
	reader.GetAccount().Keys()
	if err := m.loadSeeds(ctx, mach, reader); err != nil {
		return err
	}
	m.mach = mach
	clear(m.unreached)
	verify, err := newVerifier(ctx, m)
	if err != nil {
		return err
	}
	m.verify = verify
	m.readMu.Lock()
	defer m.readMu.Unlock()
	m.store, m.reader = store, reader
	return nil
}

// keys is the store, for those who do not hold m.mu.
func (m *Machine) keys() *keyStore {
	m.readMu.Lock()
	defer m.readMu.Unlock()
	return m.store
}

// Close ends the machine; nothing may be called on it any more.
func (m *Machine) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mach != nil {
		m.mach.Destroy()
	}
	if m.db == nil {
		return nil
	}
	return m.db.Close()
}
