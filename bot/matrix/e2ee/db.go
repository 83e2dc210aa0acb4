package e2ee

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"go.mau.fi/util/dbutil"
	"maunium.net/go/mautrix/crypto/sql_store_upgrade"

	"matrix-tui/bot/crash"
	"matrix-tui/state/sqlitefile"
)

// database is crypto.db: mautrix's tables and ours.
type database struct {
	*dbutil.Database
	failures
	pickle []byte // key that encrypts the keys in the database
}

// ours creates the tables that mautrix does not have. An encryption of NULL is
// unknown; an empty one means that the room is not encrypted.
const ours = `
CREATE TABLE IF NOT EXISTS e2ee_meta (
	key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS e2ee_room (
	room TEXT NOT NULL PRIMARY KEY,
	encryption TEXT,
	visibility TEXT NOT NULL DEFAULT '',
	members INTEGER NOT NULL DEFAULT 0 -- 1: e2ee_member holds all of them
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS e2ee_member (
	room TEXT NOT NULL, user TEXT NOT NULL, membership TEXT NOT NULL,
	PRIMARY KEY (room, user)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS e2ee_pinned ( -- see pinned.go
	user TEXT NOT NULL, device TEXT NOT NULL, identity_key TEXT NOT NULL, signing_key TEXT NOT NULL,
	PRIMARY KEY (user, device)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS e2ee_member_user ON e2ee_member (user);
`

// openDatabase opens or creates crypto.db in dir. Commits survive a power failure,
// because using a message key twice would reveal messages.
func openDatabase(ctx context.Context, dir string) (*database, error) {
	path := filepath.Join(dir, "crypto.db")
	pickle, err := pickleKey(dir, path)
	if err != nil {
		return nil, err
	}
	if err := sqlitefile.Create(path); err != nil {
		return nil, fmt.Errorf("create crypto.db: %w", err)
	}
	raw, err := sqlitefile.Open(path, url.Values{
		"_txlock": {"immediate"}, "_time_format": {"sqlite"}, "_pragma": {
			"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "journal_size_limit(16777216)",
		}})
	if err != nil {
		return nil, fmt.Errorf("open crypto.db: %w", err)
	}
	raw.SetMaxOpenConns(4)
	wrapped, err := dbutil.NewWithDB(raw, "sqlite3")
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("open crypto.db: %w", err)
	}
	db := &database{Database: wrapped, pickle: pickle}
	if err := db.migrate(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

func (db *database) migrate(ctx context.Context) error {
	keys := db.Child(sql_store_upgrade.VersionTableName, sql_store_upgrade.Table, db.Log)
	if err := keys.Upgrade(ctx); err != nil {
		return fmt.Errorf("migrate crypto.db: %w", err)
	}
	if _, err := db.Exec(ctx, ours); err != nil {
		return fmt.Errorf("migrate crypto.db: %w", err)
	}
	return nil
}

// pickleKey reads crypto.key, or creates it if there is no crypto.db yet.
func pickleKey(dir, path string) ([]byte, error) {
	name := filepath.Join(dir, "crypto.key")
	data, err := os.ReadFile(name)
	if err == nil {
		key, err := base64.RawStdEncoding.DecodeString(strings.TrimSpace(string(data)))
		if err != nil || len(key) != 32 {
			return nil, errors.New("crypto.key does not contain a key")
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read crypto.key: %w", err)
	}
	if _, err := os.Stat(path); err == nil {
		return nil, errors.New("crypto.db exists but its crypto.key is missing: restore crypto.key, or move crypto.db away " +
			"and log in again")
	}
	key := make([]byte, 32)
	rand.Read(key) // never fails
	crash.Count("write crypto.key")
	if err := renameio.WriteFile(name, []byte(base64.RawStdEncoding.EncodeToString(key)+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write crypto.key: %w", err)
	}
	return key, nil
}

// meta returns one of our own values, or "".
func (db *database) meta(ctx context.Context, key string) (value string, err error) {
	err = db.QueryRow(ctx, "SELECT value FROM e2ee_meta WHERE key=$1", key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

func (db *database) setMeta(ctx context.Context, key, value string) error {
	_, err := db.Exec(ctx, "INSERT INTO e2ee_meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET "+
		"value=excluded.value", key, value)
	return err
}
