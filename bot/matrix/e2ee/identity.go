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
)

// Identity is a user's cross-signing identity in crypto.db. Present is the latest one
// from the homeserver. First is the trusted one: the first that was seen, or the one
// that the operator accepted. Both are "" if there is none.
type Identity struct {
	User           string
	First, Present string
	Shares         bool // the user is in an encrypted room with the account
}

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
	path, err := filepath.Abs(filepath.Join(dir, "crypto.db"))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{
		"mode":    {"rw"}, // "ro" would leave SQLite's other files behind
		"_pragma": {"busy_timeout(10000)", "query_only(1)"},
	}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
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
	return all, nil
}

// Accept trusts i.Present from now on. It may be used while the bot is running. It
// fails without effect if the identity has changed since Identities returned i.
func Accept(ctx context.Context, dir string, i Identity) (err error) {
	db, err := openDatabase(ctx, dir)
	if err != nil {
		return fmt.Errorf("accept identity: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.DoTxn(ctx, nil, func(ctx context.Context) error {
		result, err := db.Exec(ctx, "UPDATE crypto_cross_signing_keys SET first_seen_key=key WHERE user_id=$1 AND usage='master' AND key=$2", i.User, i.Present)
		if err != nil {
			return fmt.Errorf("accept identity: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil || n != 1 {
			return errors.Join(errors.New("accept identity: it has changed again"), err)
		}
		// new room keys include the user's devices; present ones do not
		_, err = db.Exec(ctx, "DELETE FROM crypto_megolm_outbound_session WHERE room_id IN (SELECT room FROM e2ee_member WHERE user=$1)", i.User)
		if err != nil {
			return fmt.Errorf("delete room keys: %w", err)
		}
		return nil
	})
}
