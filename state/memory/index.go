package memory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"matrix-tui/state/damage"
	"matrix-tui/state/retry"
	"matrix-tui/state/sqlitefile"
)

// MaxIndex bounds the index of a room, in bytes.
const MaxIndex = 64 << 20

const (
	pageSize = 4096
	busyTime = 5000 // how long to wait for another process that writes, ms
)

// Folder is the folder of the indexes in the state directory.
const Folder = "memory"

// Index is the memory of one room. Its methods are safe for concurrent use, also by several processes. A search holds
// nothing open for long: open an index when it is needed, and close it.
type Index struct {
	db       *sql.DB
	path     string
	room     string
	salvaged *Salvage
	unfilled bool
	hidden   hidden
}

// Path returns the file of a room's index in the state directory dir.
func Path(dir, room string) string {
	sum := sha256.Sum256([]byte(room))
	return filepath.Join(dir, Folder, hex.EncodeToString(sum[:12])+".db")
}

// Exists reports whether a room has an index.
func Exists(dir, room string) bool {
	info, err := os.Lstat(Path(dir, room))
	return err == nil && info.Mode().IsRegular()
}

// Open opens or creates the index of a room. An index that is damaged or of another release is built again: what only it
// has is kept as far as it can be read (see Salvaged), and everything else comes back with the next Put. It returns
// ErrLocked if another program has locked the file for five seconds. No error must stop a bot: it can go on without
// memory.
func Open(ctx context.Context, dir, room string) (*Index, error) {
	x := &Index{path: Path(dir, room), room: room}
	if err := os.MkdirAll(filepath.Dir(x.path), 0o700); err != nil {
		return nil, explain(fmt.Errorf("open memory: %w", err), x.path)
	}
	err := x.openUnlocked(ctx)
	if damage.Is(err) || errors.Is(err, errOutdated) {
		err = x.repair(ctx)
	}
	if err != nil {
		return nil, explain(fmt.Errorf("open memory: %w", err), x.path)
	}
	x.redactPostponed(ctx)
	if err := x.hidePostponed(ctx); err != nil {
		return nil, errors.Join(explain(fmt.Errorf("open memory: %w", err), x.path), x.db.Close())
	}
	return x, nil
}

// openUnlocked opens the file, and tries again while it is locked: SQLite does not wait when two connections give a new
// file its WAL.
func (x *Index) openUnlocked(ctx context.Context) error {
	for again := retry.New(5*time.Millisecond, 200*time.Millisecond).Until(time.Now().Add(busyTime * time.Millisecond)); ; {
		err := x.finishRepair(ctx)
		if err == nil {
			err = x.open(ctx)
		}
		if !isLocked(err) || again.Wait(ctx, err) != nil {
			return err
		}
	}
}

// errOutdated means that the index was written by another release.
var errOutdated = errors.New("memory index of another release")

// open opens the file and creates the tables in an empty one.
func (x *Index) open(ctx context.Context) error {
	if damage.Marked(x.path) {
		return fmt.Errorf("%w: the last run found that", damage.Err)
	}
	if err := createFile(x.path); err != nil {
		return err
	}
	unclean := damage.Unclean(x.path)
	db, err := connect(x.path)
	if err != nil {
		return err
	}
	x.db = db
	if err := x.prepare(ctx, unclean); err != nil {
		_ = db.Close()
		return err
	}
	return nil
}

func (x *Index) prepare(ctx context.Context, unclean bool) error {
	version := 0
	if err := x.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version != 0 && version != schemaVersion {
		return errOutdated
	}
	if version == 0 {
		return x.create(ctx)
	}
	if unclean { // after a crash, or while another process writes
		if err := damage.Check(ctx, x.db); err != nil {
			return err
		}
	}
	var room string
	err := x.db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'room'").Scan(&room)
	if errors.Is(err, sql.ErrNoRows) || isMissing(err) {
		return fmt.Errorf("%w: it is not the index of a room", damage.Err)
	}
	if err == nil && room != x.room {
		return errors.New("it is the index of another room") // not damaged: its notes must not be saved into this one's
	}
	if err != nil {
		return err
	}
	if _, err = x.db.ExecContext(ctx, vectorSchema); err != nil {
		return err
	}
	if err := x.db.QueryRowContext(ctx, "SELECT count(*) FROM meta WHERE key = 'unfilled'").Scan(&x.unfilled); err != nil {
		return err
	}
	return x.keepForgotten(ctx)
}

// create creates the tables, unless another process has just done that.
func (x *Index) create(ctx context.Context) error {
	x.unfilled = true
	return x.inTx(ctx, func(tx *sql.Tx) error {
		version, tables := 0, 0
		err := tx.QueryRowContext(ctx, "SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)").Scan(&version, &tables)
		if err != nil || version == schemaVersion {
			return err
		}
		if tables > 0 {
			return fmt.Errorf("%w: it is another database", damage.Err)
		}
		for _, statement := range []string{schema, vectorSchema, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ('room', ?), ('chunks', '0'), ('unfilled', '1')", x.room); err != nil {
			return err
		}
		return x.loadForgotten(ctx, tx)
	})
}

// createFile creates the file if it is missing.
func createFile(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return sqlitefile.Create(path)
}

func connect(path string) (*sql.DB, error) {
	return sqlitefile.Open(path, url.Values{"_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTime), "journal_mode(WAL)", "synchronous(FULL)", "journal_size_limit(4194304)",
		"secure_delete(1)", // what is forgotten is gone
		fmt.Sprintf("max_page_count(%d)", MaxIndex/pageSize),
	}})
}

// Room returns the room of the index.
func (x *Index) Room() string { return x.room }

// Unfilled reports whether the index is new, or was built again, and nobody has called Filled since then.
func (x *Index) Unfilled() bool { return x.unfilled }

// Filled records that the index has what its room's transcripts and files have.
func (x *Index) Filled(ctx context.Context) error {
	_, err := x.db.ExecContext(ctx, "DELETE FROM meta WHERE key = 'unfilled'")
	x.unfilled = err != nil
	return x.failed("note that the index is filled", err)
}

// Busy reports whether another process is writing, and may be for long.
func (x *Index) Busy(ctx context.Context) bool {
	_, err := x.db.ExecContext(ctx, "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK")
	_, after := x.db.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", busyTime))
	return sqlitefile.Code(err) == sqlite3.SQLITE_BUSY || after != nil
}

// Close closes the index.
func (x *Index) Close() error {
	if err := x.db.Close(); err != nil {
		return explain(fmt.Errorf("close memory: %w", err), x.path)
	}
	return nil
}

// inTx runs do in one transaction and rolls it back if do fails.
func (x *Index) inTx(ctx context.Context, do func(*sql.Tx) error) error {
	return sqlitefile.InTx(ctx, x.db, do)
}

// failed wraps an error with what failed. After damage the next Open repairs the index.
func (x *Index) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	if isMissing(err) {
		err = fmt.Errorf("%w: %w", damage.Err, err)
	}
	if damage.Is(err) {
		err = errors.Join(err, damage.Mark(x.path, err))
	}
	return explain(fmt.Errorf("%s: %w", what, err), x.path)
}

// isMissing reports whether an error says that a table or column is missing, which SQLite does not call damage.
func isMissing(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "no such table") || strings.Contains(err.Error(), "no such column") || strings.Contains(err.Error(), "vtable constructor failed"))
}
