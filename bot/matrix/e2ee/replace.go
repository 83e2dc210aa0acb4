package e2ee

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"go.mau.fi/util/dbutil"

	"matrix-tui/state/damage"
	"matrix-tui/state/sentence"
)

// openOrReplace opens crypto.db. If it is marked as damaged, or is damaged, it is moved
// aside and replaced by an empty one. After an unclean end the whole file is checked.
func openOrReplace(ctx context.Context, cfg Config) (*database, error) {
	path := filepath.Join(cfg.Dir, "crypto.db")
	db, err := openChecked(ctx, cfg.Dir, path)
	if damage.Is(err) {
		aside := damage.AsideName(path)
		cfg.Log.Error().Err(err).Str("moved_to", aside).Msg("crypto.db is damaged: moved aside, creating new keys")
		if err := damage.MoveAside(path, aside); err != nil {
			return nil, err
		}
		if db, err = openDatabase(ctx, cfg.Dir); err == nil && cfg.Replaced != nil {
			cfg.Replaced(filepath.Base(aside))
		}
	}
	return db, err
}

func openChecked(ctx context.Context, dir, path string) (*database, error) {
	if damage.Marked(path) {
		return nil, fmt.Errorf("%w: the last run found that", damage.Err)
	}
	unclean := damage.Unclean(path)
	db, err := openDatabase(ctx, dir)
	if err != nil || !unclean {
		return db, err
	}
	if err := damage.Check(ctx, db.RawDB); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("check crypto.db: %w", err)
	}
	return db, nil
}

// queryLog sees the errors of queries, including those that mautrix only logs. Callers
// of single-row queries get the error themselves: see [core.NoteDamage].
type queryLog struct {
	dbutil.DatabaseLogger
	m *core
}

// QueryTiming is part of [dbutil.DatabaseLogger].
func (l *queryLog) QueryTiming(_ context.Context, _, _ string, _ []any, _ int, _ time.Duration, err error) {
	l.m.NoteDamage(l.m.db.note(err))
}

// NoteDamage leaves the marker and calls Config.Damaged if an error of this machine says
// that crypto.db is damaged.
func (m *core) NoteDamage(err error) {
	if !damage.Is(err) {
		return
	}
	m.damaged.Do(func() {
		path := filepath.Join(m.cfg.Dir, "crypto.db")
		if marked := damage.Mark(path, err); marked != nil {
			m.log.Error().Err(marked).Msg("cannot leave a marker at the damaged crypto.db")
		}
		m.log.Error().Err(err).Msg("crypto.db is damaged: the next start replaces it")
		if m.cfg.Damaged != nil {
			m.cfg.Damaged(sentence.Newf(fmt.Errorf("crypto.db is damaged: %w", err),
				"%s is damaged: restart the bot, which creates new keys and keeps the damaged file.", path))
		}
	})
}
