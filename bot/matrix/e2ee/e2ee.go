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
	*core
	*people
	*members
	*signer
	*sender
	*decrypter
	*uploads

	asking []*event.Event // key requests that wait for the commit of their batch; guarded by mu
}

// core is what the parts of a machine share.
type core struct {
	cfg   Config
	log   zerolog.Logger
	db    *database
	rooms *rooms

	// mu guards the following fields and all use of the machine. It is held while our homeserver answers, but not while
	// it waits for others.
	mu      sync.Mutex
	mach    *crypto.OlmMachine
	verify  *verifier
	store   *keyStore
	missing map[Key]id.UserID          // keys that Decrypt did not find, with the sender of the events
	came    map[Key]bool               // arrived in the sync that is being processed
	wedged  map[id.SenderKey]id.UserID // see Machine.repairSessions

	damaged sync.Once // damage was reported

	ctx      context.Context // of everything in the background
	stop     context.CancelFunc
	requests sync.WaitGroup // in the background

	answers *sender // encrypts the answers of verify
}

func newMachine(ctx context.Context, cfg Config) *Machine {
	c := &core{cfg: cfg, log: cfg.Log.With().Str("part", "e2ee").Logger(), came: map[Key]bool{},
		wedged: map[id.SenderKey]id.UserID{}, missing: map[Key]id.UserID{}}
	c.ctx, c.stop = context.WithCancel(c.log.WithContext(context.WithoutCancel(ctx)))
	p := &people{core: c, known: map[id.UserID]lookup{}}
	r := &members{core: c, changes: map[id.RoomID]int{}}
	c.answers = &sender{core: c, people: p, members: r, again: map[id.RoomID]again{}}
	return &Machine{
		core: c, people: p, members: r, signer: &signer{core: c, people: p}, sender: c.answers,
		decrypter: &decrypter{core: c, people: p}, uploads: &uploads{core: c},
	}
}

// Open loads or creates the device's keys and makes sure that the homeserver has
// them. It returns ErrOtherAccount or ErrForeignDevice if the keys do not fit;
// network errors are mautrix's.
func Open(ctx context.Context, cfg Config) (*Machine, error) {
	if cfg.Client.UserID == "" {
		return nil, errors.New("open encryption: the client is not logged in")
	}
	m := newMachine(ctx, cfg)
	db, err := openOrReplace(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open encryption: %w", err)
	}
	m.db, m.rooms = db, &rooms{db: db.Database}
	db.Log = &queryLog{dbutil.NoopLogger, m.core}
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

// load creates the machine from the data on disk. Call it again after a rollback,
// when the state in memory is ahead of the disk. m.mu is held.
func (m *core) load(ctx context.Context) error {
	if m.mach != nil {
		m.mach.Destroy()
	}
	cli, err := m.newClient()
	if err != nil {
		return err
	}
	store := newKeyStore(m.db, cli.DeviceID)
	if m.cfg.Devices == FirstSeen {
		store.pins = cli.UserID
	}
	mach := crypto.NewOlmMachine(cli, &m.log, store, m.rooms)
	mach.DisableDecryptKeyFetching = true // no requests within a transaction
	mach.DisableRatchetTracking = true
	mach.IgnorePostDecryptionParseErrors = true // content is checked by bot/matrix/decode
	if m.cfg.Devices != AllDevices {
		mach.SendKeysMinTrust = id.TrustStateCrossSignedTOFU
	}
	mach.NeedsUnwedgeCallback = func(_ context.Context, user id.UserID, key id.SenderKey) {
		if len(m.wedged) < maxWedged {
			m.wedged[key] = user
		}
	}
	mach.SessionReceived = func(_ context.Context, room id.RoomID, session id.SessionID, _ uint32) {
		m.came[Key{room.String(), session.String()}] = true
	}
	if err := mach.Load(ctx); err != nil {
		// its row reaches into pages that SQLite cannot check
		if garbled := base64.CorruptInputError(0); errors.As(err, &garbled) {
			err = fmt.Errorf("%w: %w", damage.Err, err)
		}
		return fmt.Errorf("load account: %w", err)
	}
	m.mach, m.store = mach, store
	if err := m.loadSeeds(ctx); err != nil {
		return err
	}
	m.verify, err = newVerifier(ctx, m)
	return err
}

// keys returns the store for callers that do not hold m.mu.
func (m *core) keys() *keyStore {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.store
}

// Stop ends the requests that make our homeserver ask others, and whatever waits for them.
// Afterwards the machine can only be closed.
func (m *core) Stop() { m.stop() }

// Close closes the machine, which must not be used afterwards.
func (m *core) Close() error {
	if m.stop != nil {
		m.stop()
		m.requests.Wait()
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

// reload loads the machine from disk after a rollback. m.mu is held.
func (m *core) reload(ctx context.Context) {
	if err := m.load(context.WithoutCancel(ctx)); err != nil {
		m.log.Error().Err(err).Msg("cannot read crypto.db")
	}
}

// guard recovers from panics that received data causes in a library.
func (m *core) guard(what string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			m.log.Error().Interface("panic", r).Str("what", what).Msg("ignoring an event that caused a panic")
		}
	}()
	f()
}
