package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"matrix-tui/state/sentence"
)

// Journal is journal.db: the sync token with the events that it covers, gaps, tasks, and
// outgoing messages. Its methods are safe for concurrent use. Each change is one
// transaction, which is on disk when the method returns. Errors that a person can fix
// carry a sentence.
type Journal struct {
	db      *sql.DB
	path    string
	log     zerolog.Logger
	corrupt string
}

// OpenJournal opens or creates the journal at path. If the file is damaged or not a
// database, it is moved aside with its WAL, never overwritten, and the journal starts
// empty: see Corrupt. It returns ErrNewer for a journal of a newer release. The caller
// holds the directory's Lock.
func OpenJournal(ctx context.Context, path string, log zerolog.Logger) (*Journal, error) {
	if err := makeDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	j := &Journal{path: path, log: log}
	err := j.open(ctx)
	if damaged(err) {
		broken := err
		if err = j.setAside(); err == nil {
			log.Error().Err(broken).Str("moved_to", j.corrupt).Msg("journal is damaged: moved aside, starting with an empty one")
			err = j.open(ctx)
		}
	}
	if err != nil {
		return nil, explain(fmt.Errorf("open journal: %w", err), path)
	}
	return j, nil
}

// ReadJournal opens the journal read-only from another process. It never creates,
// repairs or migrates it. It returns ErrNotFound if there is none.
func ReadJournal(ctx context.Context, path string) (*Journal, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read journal %s: %w", path, ErrNotFound)
	}
	j := &Journal{path: path, log: zerolog.Nop()}
	if err := j.connect(url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(1)"}}); err != nil {
		return nil, explain(fmt.Errorf("read journal: %w", err), path)
	}
	version, err := j.version(ctx)
	if err == nil && version < schemaVersion {
		err = sentence.Newf(fmt.Errorf("schema %d of %s: %w", version, path, ErrOlder),
			"%s was written by an older matrix-tui: start this release once to migrate it.", path)
	}
	if err != nil {
		_ = j.db.Close()
		return nil, explain(fmt.Errorf("read journal: %w", err), path)
	}
	return j, nil
}

// Corrupt returns the path to which OpenJournal moved a damaged journal, or "".
func (j *Journal) Corrupt() string { return j.corrupt }

// Close closes the journal.
func (j *Journal) Close() error {
	if err := j.db.Close(); err != nil {
		return explain(fmt.Errorf("close journal: %w", err), j.path)
	}
	return nil
}

func (j *Journal) open(ctx context.Context) error {
	// SQLite would create the file readable for everybody. The WAL gets the same mode.
	file, err := os.OpenFile(j.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(j.path)); err != nil {
		return err
	}
	err = j.connect(url.Values{"_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "journal_size_limit(16777216)",
	}})
	if err != nil {
		return err
	}
	if err := j.migrate(ctx); err != nil {
		_ = j.db.Close()
		return err
	}
	return nil
}

// connect opens the database with a single connection: SQLite has one writer anyway,
// and our reads are short.
func (j *Journal) connect(params url.Values) error {
	abs, err := filepath.Abs(j.path)
	if err != nil {
		return err
	}
	dsn := url.URL{Scheme: "file", Path: abs, RawQuery: params.Encode()}
	if j.db, err = sql.Open("sqlite", dsn.String()); err != nil {
		return err
	}
	j.db.SetMaxOpenConns(1)
	return nil
}

// migrate creates the tables or brings those of an older release up to date.
func (j *Journal) migrate(ctx context.Context) error {
	version, err := j.version(ctx)
	if err != nil || version == schemaVersion {
		return err
	}
	return j.inTx(ctx, func(tx *sql.Tx) error {
		for _, step := range schema[version:] {
			if err := step.run(ctx, tx); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
		return err
	})
}

func (j *Journal) version(ctx context.Context) (int, error) {
	var version int
	if err := j.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if version < 0 || version > schemaVersion {
		return 0, sentence.Newf(fmt.Errorf("schema %d of %s: %w", version, j.path, ErrNewer),
			"%s was written by a newer matrix-tui: run that release, or move the file away to start with an empty one.", j.path)
	}
	return version, nil
}

// inTx runs do in one transaction and rolls it back if do fails.
func (j *Journal) inTx(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := j.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// setAside renames the database and its WAL and removes the shared memory file, which
// is useless without them.
func (j *Journal) setAside() error {
	aside, err := moveAside(j.path)
	if err != nil {
		return err
	}
	j.corrupt = aside
	if err := os.Rename(j.path+"-wal", aside+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Remove(j.path + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// failed wraps an error with what failed, and adds a sentence if there is one for it.
func (j *Journal) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return explain(fmt.Errorf("%s: %w", what, err), j.path)
}
