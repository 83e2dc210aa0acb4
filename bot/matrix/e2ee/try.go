package e2ee

import (
	"context"
	"fmt"
)

// Try opens a copy of the directory, migrates crypto.db to this release's schema and
// loads the keys, as Open does. It makes no requests.
func Try(ctx context.Context, cfg Config) (err error) {
	m := newMachine(ctx, cfg)
	if m.db, err = openDatabase(ctx, cfg.Dir); err != nil {
		return fmt.Errorf("try encryption: %w", err)
	}
	defer m.Close()
	m.rooms = &rooms{db: m.db.Database}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err = m.own(ctx); err == nil {
		err = m.load(ctx)
	}
	if err != nil {
		return fmt.Errorf("try encryption: %w", err)
	}
	return nil
}
