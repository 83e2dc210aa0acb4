// Package e2ee implements end-to-end encryption for one Matrix device. It stores the
// device's keys in crypto.db, processes the encryption parts of each /sync, and
// encrypts and decrypts room events.
//
// It never syncs and never sends room messages; its caller does. When a method
// returns without an error, its changes are on disk, so the caller may commit the
// sync token afterwards. Processing the same batch again changes nothing.
//
// Room keys go only to trusted devices, and only messages from trusted devices are
// decrypted. Config.Devices says which these are. The first identity seen for a user is
// pinned, so a homeserver can invent neither a device nor an identity. Element has the
// same rule (MSC4153) and makes its users verify their sessions. For a user without an
// identity, the devices of the first contact are pinned instead: see pinned.go.
package e2ee

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"go.mau.fi/util/dbutil"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"matrix-tui/state/damage"
)

// Config holds the settings of a Machine.
type Config struct {
	// Client is logged in: UserID and DeviceID are set, and its AccessToken unless its
	// transport sends one. Its Crypto field
	// is nil, so that mautrix encrypts nothing by itself. Without a DeviceID the
	// machine only knows which rooms are encrypted: see ErrNoDevice.
	Client *mautrix.Client
	// Dir is the directory of crypto.db, crypto.key and recovery-key, all mode 0600.
	Dir string
	// Password is the account's password, which a homeserver may require before it
	// accepts cross-signing keys; "" if it is not known.
	Password string
	// NoCrossSigning disables creating or using the account's cross-signing keys.
	NoCrossSigning bool
	// Devices says which devices are trusted; the zero value is CrossSigned.
	Devices Rule
	// Owner reports whether to accept a verification from this user; nil accepts none.
	Owner func(user string) bool
	// ShowSAS is called with what a person who verifies this device must also see. It
	// is called within ProcessSync or ProcessVerification and must not wait for them.
	ShowSAS func(SAS)
	// KeyArrived is called when a key that Decrypt did not find is on disk, or when the
	// devices of its sender have changed or were fetched. It must not wait for the
	// Machine.
	KeyArrived func(Key)
	// Damaged is called, once, when crypto.db turns out to be damaged. The process must
	// end then: the next Open replaces the file. It must not block; nil for none.
	Damaged func(error)
	// Replaced is called by Open with the name of a damaged crypto.db, which it has moved
	// aside; nil for none.
	Replaced func(file string)
	Log      zerolog.Logger
}

// Key identifies the key of some of a room's messages: a Megolm session.
type Key struct{ Room, Session string }

// Machine is the encryption of one device. Its methods are safe for concurrent use.
type Machine struct {
	cfg   Config
	log   zerolog.Logger
	db    *database
	rooms *rooms

	mu        sync.Mutex // guards the following fields and all use of Olm sessions; held while our homeserver answers, but not while it waits for others
	mach      *crypto.OlmMachine
	verify    *verifier
	asked     map[id.UserID]time.Time // when a user's devices were last requested in vain
	counted   time.Time               // when the homeserver was last asked how many one-time keys it has
	shared    time.Time               // when keys were last uploaded
	offered   time.Time               // when it last rejected a fallback key
	committed bool                    // a batch was committed since Open
	asking    []*event.Event          // key requests received before the first commit

	unreached map[id.RoomID]*unreached // by room, for its present key
	recovery  string                   // recovery key created by this Open, or ""
	unsigned  error                    // why the device could not be signed, or nil

	readMu sync.Mutex         // guards the following fields; locked after mu
	store  *keyStore          // replaced under both locks
	reader *crypto.OlmMachine // decrypts room events only and makes no requests

	missing missing
	damaged sync.Once // damage was reported

	// Requests that make our homeserver ask others, which run without mu: see requests.go.
	queries  flights[id.UserID]      // devices of users
	claims   flights[id.IdentityKey] // one-time keys of devices
	learns   flights[id.RoomID]      // members of rooms
	changed  map[id.UserID]bool      // by user in a query: the devices have changed meanwhile; guarded by mu
	moved    map[id.RoomID]bool      // by room in learns: the members have changed meanwhile; guarded by mu
	ctx      context.Context         // of everything in the background
	stop     context.CancelFunc
	requests background
}

// Open loads or creates the device's keys and makes sure that the homeserver has
// them. It returns ErrOtherAccount or ErrForeignDevice if the keys do not fit;
// network errors are mautrix's.
func Open(ctx context.Context, cfg Config) (*Machine, error) {
	if cfg.Client.UserID == "" {
		return nil, errors.New("open encryption: the client is not logged in")
	}
	m := &Machine{
		cfg: cfg, log: cfg.Log.With().Str("part", "e2ee").Logger(),
		asked: map[id.UserID]time.Time{}, unreached: map[id.RoomID]*unreached{}, missing: missing{wanted: map[Key]id.UserID{}},
		changed: map[id.UserID]bool{}, moved: map[id.RoomID]bool{},
	}
	m.ctx, m.stop = context.WithCancel(m.log.WithContext(context.WithoutCancel(ctx)))
	db, err := openOrReplace(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open encryption: %w", err)
	}
	db.Log = &damageLog{dbutil.NoopLogger, m.NoteDamage}
	m.db = db
	m.rooms = &rooms{db: db.Database}
	if err := m.start(ctx); err != nil {
		m.NoteDamage(err)
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
	if err := m.db.afterReplacing(ctx, m.publish(ctx)); err != nil {
		return err
	}
	if m.cfg.NoCrossSigning {
		return nil
	}
	return m.crossSign(ctx)
}

// load creates the machines from the data on disk. Call it again after a rollback,
// when the state in memory is ahead of the disk. m.mu is held.
func (m *Machine) load(ctx context.Context) error {
	if m.mach != nil {
		m.mach.Destroy()
	}
	cli, err := machineClient(m.cfg.Client)
	if err != nil {
		return err
	}
	store := newKeyStore(m.db, cli.DeviceID)
	if m.cfg.Devices == FirstSeen {
		store.pins = cli.UserID
	}
	mach := crypto.NewOlmMachine(cli, &m.log, store, m.rooms)
	mach.DisableDecryptKeyFetching = true // no requests within a transaction
	if m.cfg.Devices != AllDevices {
		mach.SendKeysMinTrust = id.TrustStateCrossSignedTOFU
	}
	mach.SessionReceived = func(_ context.Context, room id.RoomID, session id.SessionID, _ uint32) {
		m.missing.arrived(Key{room.String(), session.String()})
	}
	reader := crypto.NewOlmMachine(cli, &m.log, store, m.rooms)
	reader.DisableDecryptKeyFetching = true
	reader.DisableRatchetTracking = true
	reader.IgnorePostDecryptionParseErrors = true // content is checked by bot/matrix/decode
	for _, machine := range []*crypto.OlmMachine{mach, reader} {
		if err := machine.Load(ctx); err != nil {
			if garbled := base64.CorruptInputError(0); errors.As(err, &garbled) { // its row reaches into pages that SQLite cannot check
				err = fmt.Errorf("%w: %w", damage.Err, err)
			}
			return fmt.Errorf("load account: %w", err)
		}
	}
	mach.GetAccount().Keys() // caches the keys, so that both machines only read them
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

// keys returns the store for callers that do not hold m.mu.
func (m *Machine) keys() *keyStore {
	m.readMu.Lock()
	defer m.readMu.Unlock()
	return m.store
}

// Stop ends the requests that make our homeserver ask others, and whatever waits for them.
// Afterwards the machine can only be closed.
func (m *Machine) Stop() { m.stop() }

// Close closes the machine, which must not be used afterwards.
func (m *Machine) Close() error {
	if m.stop != nil {
		m.stop()
		m.requests.close()
	}
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
