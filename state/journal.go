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
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"matrix-tui/state/damage"
	"matrix-tui/state/disk"
	"matrix-tui/state/sentence"
	"matrix-tui/state/sqlitefile"
)

// Journal is journal.db, in parts. Their methods are safe for concurrent use. Each change is one transaction, which is
// on disk when the method returns. Errors that a person can fix carry a sentence.
type Journal struct {
	*core
	Events      *Events
	Undecrypted *Undecrypted
	Gaps        *Gaps
	Tasks       *Tasks
	Messages    *Messages
	Memory      *Memory
	Budget      *Budget
	Schedule    *Schedule
	Visits      *Visits
	Snapshots   *Snapshots
	Removal     *Removal

	fresh bool // its tables were created when it was opened
}

// The parts of a [Journal].
type (
	Events      struct{ *core } // Events are the sync token with what the homeserver has told.
	Undecrypted struct{ *core } // Undecrypted are the events that wait for a key.
	Gaps        struct{ *core } // Gaps are what limited syncs left out and what is read of it.
	Tasks       struct{ *core } // Tasks are the rooms' queues, and what waits for an answer.
	Messages    struct{ *core } // Messages are the bot's own, sent or not.
	Memory      struct{ *core } // Memory is notes, imports, and what is forgotten.
	Budget      struct{ *core } // Budget is tokens and requests by room and day.
)

// core is what the parts share.
type core struct {
	db       *sql.DB
	path     string
	log      zerolog.Logger
	readOnly bool
	joined   bool         // the bot may be running beside it: the snapshots are the bot's
	routine  atomic.Int64 // changes that need no snapshot

	damageOnce sync.Once
	onDamage   atomic.Pointer[func(error)]
}

func assemble(c *core) *Journal {
	stale := make(chan struct{}, 1)
	return &Journal{core: c, Events: &Events{c}, Undecrypted: &Undecrypted{c}, Gaps: &Gaps{c}, Tasks: &Tasks{c},
		Messages: &Messages{c},
		Memory:   &Memory{c}, Budget: &Budget{c}, Schedule: &Schedule{c}, Visits: &Visits{c},
		Snapshots: &Snapshots{core: c, stale: stale}, Removal: &Removal{core: c, stale: stale}}
}

// OpenJournal opens or creates the journal at path. If the file is damaged, or was marked as damaged, its newest
// snapshot takes its place, and the damaged file is kept next to it: see Corrupt and Restored. After an unclean end
// SQLite checks the whole file first. It returns ErrNewer for a journal of a newer release, ErrOlder for one that is
// too old. The caller holds the directory's Lock.
func OpenJournal(ctx context.Context, path string, log zerolog.Logger) (*Journal, error) {
	if err := disk.MakeDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	j := assemble(&core{path: path, log: log})
	err := j.Snapshots.finishRestore()
	switch {
	case err != nil:
	case damage.Marked(path):
		err = fmt.Errorf("%w: the last run found that", damage.Err)
	default:
		err = j.open(ctx)
	}
	if damage.Is(err) {
		log.Error().Err(err).Msg("journal is damaged: restoring a snapshot")
		if err = j.Snapshots.restore(ctx, err); err == nil {
			err = j.open(ctx)
		}
	}
	if err != nil {
		return nil, disk.Explain(fmt.Errorf("open journal: %w", err), path)
	}
	return j, nil
}

// ReadJournal opens the journal read-only from another process. It never creates,
// repairs or imports it. It returns ErrNotFound if there is none.
func ReadJournal(ctx context.Context, path string) (*Journal, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read journal %s: %w", path, ErrNotFound)
	}
	j := assemble(&core{path: path, log: zerolog.Nop(), readOnly: true})
	if err := j.connect(url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(1)"}}); err != nil {
		return nil, disk.Explain(fmt.Errorf("read journal: %w", err), path)
	}
	version, err := j.version(ctx)
	if err == nil && version < schemaVersion {
		err = sentence.Newf(fmt.Errorf("schema %d of %s: %w", version, path, ErrOlder),
			"%s was written by an older matrix-tui: start this release once to import it.", path)
	}
	if err != nil {
		_ = j.db.Close()
		return nil, disk.Explain(fmt.Errorf("read journal: %w", err), path)
	}
	return j, nil
}

// JoinJournal opens the journal for changes from another process; the bot may be running. It creates one that is
// missing, and never repairs or imports one.
func JoinJournal(ctx context.Context, path string) (*Journal, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		j, err := OpenJournal(ctx, path, zerolog.Nop())
		if err == nil {
			j.joined = true
		}
		return j, err
	}
	read, err := ReadJournal(ctx, path) // for its errors
	if err != nil {
		return nil, err
	}
	j := assemble(&core{path: path, log: zerolog.Nop(), joined: true})
	if err := errors.Join(read.Close(), j.connect(j.params())); err != nil {
		return nil, disk.Explain(fmt.Errorf("open journal: %w", err), path)
	}
	return j, nil
}

// Corrupt returns the path to which OpenJournal moved a damaged journal, or "".
func (j *Journal) Corrupt() string { return j.Snapshots.corrupt }

// Close closes the journal, after a last snapshot if OpenJournal has opened it.
func (j *Journal) Close() error {
	j.Snapshots.close()
	if err := j.db.Close(); err != nil {
		return disk.Explain(fmt.Errorf("close journal: %w", err), j.path)
	}
	return nil
}

func (j *Journal) open(ctx context.Context) error {
	if err := j.create(); err != nil {
		return err
	}
	unclean := damage.Unclean(j.path)
	err := j.connect(j.params())
	if err != nil {
		return err
	}
	if unclean {
		err = damage.Check(ctx, j.db)
	}
	if err == nil {
		err = j.prepare(ctx)
	}
	if err != nil {
		_ = j.db.Close()
	}
	return err
}

// create makes sure that the file exists.
func (j *Journal) create() error {
	if err := sqlitefile.Create(j.path); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(j.path))
}

func (j *Journal) params() url.Values {
	pragmas := []string{
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "journal_size_limit(16777216)",
		"secure_delete(1)", // what is deleted is gone
	}
	if info, err := os.Stat(j.path); err == nil && info.Size() == 0 {
		pragmas = append([]string{"auto_vacuum(incremental)"}, pragmas...) // before the first write
	}
	return url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}
}

func (j *Journal) connect(params url.Values) (err error) {
	j.db, err = sqlitefile.Open(j.path, params)
	return err
}

// inTx runs do in one transaction and rolls it back if do fails.
func (c *core) inTx(ctx context.Context, do func(*sql.Tx) error) error {
	return sqlitefile.InTx(ctx, c.db, do)
}

// failed wraps an error with what failed, and adds a sentence if there is one for it. It
// notes damage.
func (c *core) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	c.noteDamage(err)
	return disk.Explain(fmt.Errorf("%s: %w", what, err), c.path)
}
