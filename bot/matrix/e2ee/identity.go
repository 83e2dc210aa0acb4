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

// Identity is what crypto.db knows of a user's cross-signing identity. Present is
// the one that the homeserver gave last, First the one that is trusted: the first
// that was seen, or that the operator accepted. Both are "" when there is none.
type Identity struct {
	User           string
	First, Present string
	Shares         bool // an encrypted room with the account
}

// Fingerprint writes the key of an identity in groups of four, for people. A
// homeserver may have given anything as a key.
func Fingerprint(key string) string {
	if raw, err := base64.RawStdEncoding.DecodeString(key); err != nil || len(raw) != 32 {
		return "(not a key)"
	}
	return id.Ed25519(key).Fingerprint()
}

// Changed tells that the present identity is not trusted.
func (i Identity) Changed() bool { return i.First != i.Present }

// Identities lists the users whose devices are known, as the bot saw them last.
// It only reads, and may be used while the bot runs. Without a crypto.db there
// are none.
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

// Accept trusts the present identity of a user from now on; it may be used while
// the bot runs. Where the identity has changed once more since Identities gave
// it, nothing happens and the error says so.
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
			return errors.Join(errors.New("accept identity: it has changed just now"), err)
		}
		// the user's devices get the next room keys, not the present ones
		_, err = db.Exec(ctx, "DELETE FROM crypto_megolm_outbound_session WHERE room_id IN (SELECT room FROM e2ee_member WHERE user=$1)", i.User)
		if err != nil {
			return fmt.Errorf("forget room keys: %w", err)
		}
		return nil
	})
}
