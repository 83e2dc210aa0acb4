package e2ee

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"go.mau.fi/util/dbutil"
	"maunium.net/go/mautrix/id"

	"matrix-tui/state/sqlitefile"
)

// Identity is a user's cross-signing identity in crypto.db. Present is the latest one
// from the homeserver. First is the trusted one: the first that was seen, or the one
// that the operator accepted. Both are "" if there is none, and First is "" if the
// identity appeared after the first contact and nothing confirms it.
type Identity struct {
	User           string
	First, Present string
	Shares         bool     // the user is in an encrypted room with the account
	New            []Device // if the user has no identity: devices that appeared after the first contact
}

// Device is a user's device with its signing key.
type Device struct{ ID, Key string }

// Fingerprint formats the key of an identity in groups of four. The key may be
// anything, because it comes from a homeserver.
func Fingerprint(key string) string {
	if raw, err := base64.RawStdEncoding.DecodeString(key); err != nil || len(raw) != 32 {
		return "(not a key)"
	}
	return id.Ed25519(key).Fingerprint()
}

// Changed reports whether the present identity differs from the trusted one.
func (i Identity) Changed() bool { return i.First != i.Present }

// Identities lists the users whose devices the bot tracks. It only reads and may be
// used while the bot is running. Without a crypto.db it returns none.
func Identities(ctx context.Context, dir string) ([]Identity, error) {
	path := filepath.Join(dir, "crypto.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	db, err := sqlitefile.Open(path, url.Values{
		"mode":    {"rw"}, // "ro" would leave SQLite's other files behind
		"_pragma": {"busy_timeout(10000)", "query_only(1)"},
	})
	if err != nil {
		return nil, fmt.Errorf("open crypto.db: %w", err)
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `
		SELECT t.user_id, COALESCE(k.first_seen_key, ''), COALESCE(k.key, ''), EXISTS (
			SELECT 1 FROM e2ee_member m JOIN e2ee_room r ON r.room = m.room
			WHERE m.user = t.user_id AND m.membership IN ('join', 'invite') AND r.encryption <> '')
		FROM crypto_tracked_user t
		LEFT JOIN crypto_cross_signing_keys k ON k.user_id = t.user_id AND k.usage = 'master'
		ORDER BY t.user_id`)
	all, err := dbutil.NewRowIterWithError(rows, func(row dbutil.Scannable) (i Identity, err error) {
		return i, row.Scan(&i.User, &i.First, &i.Present, &i.Shares)
	}, err).AsList()
	if err != nil {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	for n := range all {
		if all[n].Present != "" {
			continue
		}
		rows, err := db.QueryContext(ctx, `
			SELECT device_id, signing_key FROM crypto_device d WHERE user_id=$1 AND deleted=false AND NOT EXISTS (
				SELECT 1 FROM e2ee_pinned p WHERE p.user=$1 AND p.device=d.device_id AND p.identity_key=d.identity_key AND p.signing_key=d.signing_key)
			ORDER BY device_id`, all[n].User)
		all[n].New, err = dbutil.NewRowIterWithError(rows, func(row dbutil.Scannable) (d Device, err error) {
			return d, row.Scan(&d.ID, &d.Key)
		}, err).AsList()
		if err != nil {
			return nil, fmt.Errorf("list new devices: %w", err)
		}
	}
	return all, nil
}

// Accept trusts i.Present from now on, or i.New if there is no identity. It may be used
// while the bot is running. It fails without effect if they have changed since Identities
// returned i.
func Accept(ctx context.Context, dir string, i Identity) (err error) {
	db, err := openDatabase(ctx, dir)
	if err != nil {
		return fmt.Errorf("accept identity: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.DoTxn(ctx, nil, func(ctx context.Context) error {
		if i.Present != "" {
			err := one(db.Exec(ctx, "UPDATE crypto_cross_signing_keys SET first_seen_key=key WHERE user_id=$1 AND "+
				"usage='master' AND key=$2", i.User, i.Present))
			if err != nil {
				return fmt.Errorf("accept identity: %w", err)
			}
		}
		for _, d := range i.New {
			err := one(db.Exec(ctx, `INSERT OR REPLACE INTO e2ee_pinned (user, device, identity_key, signing_key)
				SELECT user_id, device_id, identity_key, signing_key FROM crypto_device
				WHERE user_id=$1 AND device_id=$2 AND signing_key=$3 AND deleted=false`, i.User, d.ID, d.Key))
			if err != nil {
				return fmt.Errorf("accept device: %w", err)
			}
		}
		// new room keys include the user's devices; present ones do not
		_, err := db.Exec(ctx, "DELETE FROM crypto_megolm_outbound_session WHERE room_id IN (SELECT room FROM e2ee_member "+
			"WHERE user=$1)", i.User)
		if err != nil {
			return fmt.Errorf("delete room keys: %w", err)
		}
		return nil
	})
}

// one returns an error unless a statement has changed one row.
func one(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(errors.New("it has changed again"), err)
	}
	return nil
}
