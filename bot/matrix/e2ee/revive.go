package e2ee

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Revive makes the keys of a device fit for use after crypto.db in dir was
// brought back from a copy. A key that encrypts is used for one message; the
// copy does not know which were used since, so the room keys that this device
// made are forgotten and made anew. stale says that the device went on after
// the copy was made: then its sessions with other devices are forgotten too,
// for they are ahead of the copy. What was received can be read as before. The
// bot must not run. Without a crypto.db there is nothing to do.
func Revive(ctx context.Context, dir string, stale bool) error {
	if _, err := os.Stat(filepath.Join(dir, "crypto.db")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	db, err := openDatabase(ctx, dir)
	if err != nil {
		return fmt.Errorf("open the restored keys: %w", err)
	}
	tables := []string{"crypto_megolm_outbound_session", "crypto_megolm_outbound_session_shared"}
	if stale {
		tables = append(tables, "crypto_olm_session")
	}
	for _, table := range tables {
		if _, err := db.Exec(ctx, "DELETE FROM "+table); err != nil {
			return errors.Join(fmt.Errorf("forget %s: %w", table, err), db.Close())
		}
	}
	if err := db.Close(); err != nil {
		return fmt.Errorf("close the restored keys: %w", err)
	}
	return nil
}
