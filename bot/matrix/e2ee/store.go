package e2ee

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"go.mau.fi/util/dbutil"
	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/id"
)

// keyStore is mautrix's store with our own rules.
type keyStore struct {
	*crypto.SQLCryptoStore
	*failures

	pins id.UserID // our account if the devices of the first contact count (see pinned.go), else ""
}

func newKeyStore(db *database, device id.DeviceID) *keyStore {
	return &keyStore{SQLCryptoStore: crypto.NewSQLCryptoStore(db.Database, db.Log, "", device, db.pickle),
		failures: &db.failures}
}

// failures holds the first failed statement since begin: mautrix only logs many of them. The query log notes all but
// those that return one row, which the store notes itself.
type failures struct {
	failMu sync.Mutex
	failed error
}

// begin forgets earlier failures.
func (f *failures) begin() {
	f.failMu.Lock()
	defer f.failMu.Unlock()
	f.failed = nil
}

// note records an error, if it is one, and returns it.
func (f *failures) note(err error) error {
	f.failMu.Lock()
	defer f.failMu.Unlock()
	if f.failed == nil {
		f.failed = err
	}
	return err
}

// failure returns the first error since begin, or nil.
func (f *failures) failure() error {
	f.failMu.Lock()
	defer f.failMu.Unlock()
	return f.failed
}

// GetOlmHash is part of crypto.Store.
func (s *keyStore) GetOlmHash(ctx context.Context, hash [32]byte) (time.Time, error) {
	at, err := s.SQLCryptoStore.GetOlmHash(ctx, hash)
	return at, s.note(err)
}

// GetGroupSession is part of crypto.Store.
func (s *keyStore) GetGroupSession(ctx context.Context, room id.RoomID,
	name id.SessionID) (*crypto.InboundGroupSession, error) {
	session, err := s.SQLCryptoStore.GetGroupSession(ctx, room, name)
	if err != nil && !errors.Is(err, crypto.ErrGroupSessionWithheld) {
		_ = s.note(err)
	}
	return session, err
}

// PutDevice is part of crypto.Store. It does not store that a device was verified:
// our side of a verification confirms automatically, so a homeserver, which can speak
// for its users, could have any of their devices verified.
func (s *keyStore) PutDevice(ctx context.Context, user id.UserID, device *id.Device) error {
	kept := *device
	kept.Trust = min(kept.Trust, id.TrustStateUnset)
	return s.SQLCryptoStore.PutDevice(ctx, user, &kept)
}

// PutDevices is part of crypto.Store. It stores no trust either. It replaces a device whose
// keys have changed completely: mautrix would keep the signing key of a device that was
// deleted, so that its signatures would count for the other keys.
func (s *keyStore) PutDevices(ctx context.Context, user id.UserID, devices map[id.DeviceID]*id.Device) error {
	kept := maps.Clone(devices)
	return s.DB.DoTxn(ctx, nil, func(ctx context.Context) error {
		for name, device := range devices {
			one := *device
			one.Trust = min(one.Trust, id.TrustStateUnset)
			kept[name] = &one
			_, err := s.DB.Exec(ctx, "DELETE FROM crypto_device WHERE user_id=$1 AND device_id=$2 AND (identity_key<>$3 OR "+
				"signing_key<>$4)", user, name, one.IdentityKey, one.SigningKey)
			if err != nil {
				return fmt.Errorf("replace device: %w", err)
			}
		}
		return s.SQLCryptoStore.PutDevices(ctx, user, kept)
	})
}

// PutCrossSigningKey is part of crypto.Store.
func (s *keyStore) PutCrossSigningKey(ctx context.Context, user id.UserID, usage id.CrossSigningUsage,
	key id.Ed25519) error {
	if err := s.doubt(ctx, user, usage, key); err != nil {
		return err
	}
	return s.SQLCryptoStore.PutCrossSigningKey(ctx, user, usage, key)
}

// IsKeySignedBy is part of crypto.Store. For the same reason, our signature of a
// user's identity counts only for the trusted identity.
func (s *keyStore) IsKeySignedBy(ctx context.Context, user id.UserID, key id.Ed25519, signer id.UserID,
	by id.Ed25519) (bool, error) {
	signed, err := s.SQLCryptoStore.IsKeySignedBy(ctx, user, key, signer, by)
	if err != nil || !signed || user == signer {
		return signed, err
	}
	keys, err := s.GetCrossSigningKeys(ctx, user)
	return err == nil && keys[id.XSUsageMaster].First == key, err
}

// MarkOutboundGroupSessionShared is part of crypto.Store. It leaves out a device without an Olm session, to which
// mautrix 0.32 could not send the key: it marks that device as well, so that it may request the key. It gets it with a
// later message instead: see reach.
func (s *keyStore) MarkOutboundGroupSessionShared(ctx context.Context, user id.UserID, key id.IdentityKey,
	session id.SessionID) error {
	if olm, err := s.GetLatestSession(ctx, key); err != nil || olm == nil {
		return err
	}
	return s.SQLCryptoStore.MarkOutboundGroupSessionShared(ctx, user, key, session)
}

// IncrementTrackedUsersErrorCount is part of crypto.Store. It does nothing: after a hundred failures, mautrix 0.32
// would forget the devices of a user whose homeserver is dead, who could then not read what was said meanwhile. It
// would also look for changes every three hours only: see askAgain.
//
//lint:hides it keeps mautrix from counting
func (s *keyStore) IncrementTrackedUsersErrorCount(context.Context, []id.UserID) error { return nil }

// PutGroupSession is part of crypto.Store. It keeps the stored key unless the new one
// is better: a key sent again by somebody else must not replace the one that the
// author sent, nor may a key that covers only later messages.
//
//lint:hides it writes the row itself
func (s *keyStore) PutGroupSession(ctx context.Context, session *crypto.InboundGroupSession) error {
	var room id.RoomID
	err := s.DB.QueryRow(ctx, "SELECT room_id FROM crypto_megolm_inbound_session WHERE session_id=$1 AND session IS NOT "+
		"NULL", session.ID()).Scan(&room)
	if errors.Is(err, sql.ErrNoRows) {
		return s.SQLCryptoStore.PutGroupSession(ctx, session)
	}
	if err != nil || room != session.RoomID {
		return s.note(err)
	}
	old, err := s.GetGroupSession(ctx, room, session.ID())
	if err != nil || old != nil && !better(session, old) {
		return err
	}
	return s.SQLCryptoStore.PutGroupSession(ctx, session)
}

// better reports whether a key should replace the stored one of the same session.
func better(session, old *crypto.InboundGroupSession) bool {
	direct := len(session.ForwardingChains) == 0
	if len(old.ForwardingChains) > 0 && direct {
		return true
	}
	same := old.SenderKey == session.SenderKey && old.SigningKey == session.SigningKey
	return same && session.Internal.FirstKnownIndex() < old.Internal.FirstKnownIndex()
}

// lacking returns those devices with which we have no Olm session.
func (s *keyStore) lacking(ctx context.Context, devices []*id.Device) (lacking []*id.Device, err error) {
	for _, device := range devices {
		session, err := s.GetLatestSession(ctx, device.IdentityKey)
		if err != nil {
			return nil, fmt.Errorf("look up session with a device: %w", err)
		}
		if session == nil {
			lacking = append(lacking, device)
		}
	}
	return lacking, nil
}

// tracked returns the users whose devices we track.
func (s *keyStore) tracked(ctx context.Context) ([]id.UserID, error) {
	rows, err := s.DB.Query(ctx, "SELECT user_id FROM crypto_tracked_user")
	return dbutil.NewRowIterWithError(rows, dbutil.ScanSingleColumn[id.UserID], err).AsList()
}

// renewDevice deletes the keys of a device that is no longer ours, except those for
// reading old messages.
func (s *keyStore) renewDevice(ctx context.Context) error {
	return s.DB.DoTxn(ctx, nil, func(ctx context.Context) error {
		for _, table := range []string{"crypto_account", "crypto_olm_session", "crypto_olm_message_hash",
			"crypto_megolm_outbound_session", "crypto_megolm_outbound_session_shared"} {
			if _, err := s.DB.Exec(ctx, "DELETE FROM "+table); err != nil {
				return fmt.Errorf("empty %s: %w", table, err)
			}
		}
		return nil
	})
}
