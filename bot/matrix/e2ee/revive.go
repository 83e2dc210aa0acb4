package e2ee

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Revive prepares crypto.db in dir for use after it was restored from a backup. A
// message key must be used only once, and the backup does not know which were used
// since, so Revive deletes the outgoing room keys; new ones are created when needed.
// stale says that the device was used after the backup: then Revive also deletes the
// Olm sessions, because other devices are ahead of them. Received messages stay
// readable. The bot must not be running. Without a crypto.db it does nothing.
func Revive(ctx context.Context, dir string, stale bool) error {
	if _, err := os.Stat(filepath.Join(dir, "crypto.db")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	db, err := openDatabase(ctx, dir)
	if err != nil {
		return fmt.Errorf("open restored keys: %w", err)
	}
	tables := []string{"crypto_megolm_outbound_session", "crypto_megolm_outbound_session_shared"}
	if stale {
		tables = append(tables, "crypto_olm_session")
	}
	for _, table := range tables {
		if _, err := db.Exec(ctx, "DELETE FROM "+table); err != nil {
			return errors.Join(fmt.Errorf("empty %s: %w", table, err), db.Close())
		}
	}
	if err := db.Close(); err != nil {
		return fmt.Errorf("close restored keys: %w", err)
	}
	return nil
}
