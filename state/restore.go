package state

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"matrix-tui/state/damage"
	"matrix-tui/state/disk"
	"matrix-tui/state/event"
)

// A damaged journal is replaced by its newest snapshot, in steps that a crash may interrupt anywhere:
//
//  1. Whoever meets the damage writes the marker and ends the process.
//  2. The next start copies the newest sound snapshot to journal.db.new. Without one, that becomes a new journal.
//  3. It moves the damaged file and its WAL aside, removes the marker, and puts the new file in their place.
//
// While the marker exists the journal is not opened. What the snapshot lacks comes again from the homeserver, because
// the sync token is as old; our own messages are in it, too, and show what is done: see Answered.

// Restored says what took the place of a damaged or lost journal. It is stored in the new one until ForgetRestored.
type Restored struct {
	From string    `json:"from"` // name of the damaged file; "" if there was none, only a state.json
	At   time.Time `json:"at"`   // time of the snapshot; zero if there was none
}

const restoredKey = "restored" // in the table meta

// Restored returns what took the place of a damaged or lost journal, or nil if nothing did or that is reported.
func (j *Snapshots) Restored(ctx context.Context) (*Restored, error) {
	text, err := value[string](ctx, j.core, "read what was restored", "SELECT value FROM meta WHERE key = ?", restoredKey)
	if err != nil || text == "" {
		return nil, err
	}
	r := &Restored{}
	return r, j.failed("read what was restored", json.Unmarshal([]byte(text), r))
}

func (j *Snapshots) noteRestored(ctx context.Context, r Restored) error {
	return j.exec(
		ctx,
		"note what was restored",
		"INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?), ('restoring', '')",
		restoredKey,
		string(disk.JSON(r)),
	)
}

// endRestoring is for each sync: from the first one on that leaves no gaps, tasks are as they are.
const endRestoring = "DELETE FROM meta WHERE key = 'restoring' AND NOT EXISTS (SELECT 1 FROM gap)"

// Restoring reports whether the room's tasks are of a snapshot and may have ended since: what is missing shows that.
func (j *Snapshots) Restoring(ctx context.Context, room string) (bool, error) {
	return value[bool](ctx, j.core, "look up what was restored",
		"SELECT 1 FROM meta JOIN gap ON room = ? WHERE key = 'restoring' LIMIT 1", room)
}

// ForgetRestored records that the owners know what was restored.
func (j *Snapshots) ForgetRestored(ctx context.Context) error {
	return j.exec(ctx, "forget what was restored", "DELETE FROM meta WHERE key = ?", restoredKey)
}

// Decided stores that events were decided, for those that a restored journal does not
// have: they may arrive again. They come before all others, and are kept as long as what
// arrives now.
func (j *Snapshots) Decided(ctx context.Context, room string, events ...string) error {
	return j.change(ctx, "store decided events", func(tx *sql.Tx) error {
		for _, id := range events {
			_, err := tx.ExecContext(
				ctx,
				`INSERT INTO event (seq, room, event, sender, type, time, raw, status, at, encryption)
				SELECT min(0, ifnull(min(seq), 0)) - 1, ?1, ?2, '', ?3, 0, '', 4, max(?4, ifnull(max(at), 0)), '' FROM event WHERE true
				ON CONFLICT DO NOTHING`,
				room,
				id,
				event.TypeLost,
				time.Now().UnixMilli(),
			)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// noteDamage leaves the marker and reports to OnDamage if an error says that the journal
// is damaged.
func (c *core) noteDamage(err error) {
	if !damage.Is(err) || c.readOnly {
		return
	}
	c.damageOnce.Do(func() {
		if marked := damage.Mark(c.path, err); marked != nil {
			c.log.Error().Err(marked).Msg("cannot leave a marker at the damaged journal")
		}
		c.log.Error().Err(err).Str("journal", c.path).Msg("journal is damaged: the next start restores a snapshot")
		if report := c.onDamage.Load(); report != nil {
			(*report)(disk.Explain(fmt.Errorf("journal is damaged: %w", err), c.path))
		}
	})
}

// OnDamage sets the function that is called, once, when the journal turns out to be
// damaged. The process must end then: the next start replaces the journal.
func (j *Journal) OnDamage(report func(error)) { j.onDamage.Store(&report) }

// finishRestore completes a replacement that a crash interrupted after the damaged file was moved.
func (j *Snapshots) finishRestore() error {
	if exists(j.newPath()) && !exists(j.path) && !damage.Marked(j.path) {
		return j.putNew()
	}
	return removeDatabase(j.newPath()) // to be made again, or somebody has put another file in its place
}

// restore replaces a damaged journal.
func (j *Snapshots) restore(ctx context.Context, why error) error {
	if err := damage.Mark(j.path, why); err != nil {
		return err
	}
	aside := damage.AsideName(j.path)
	r := Restored{From: filepath.Base(aside)}
	fresh := assemble(&core{path: j.newPath(), log: j.log})
	for _, snapshot := range append(j.files(), "") {
		err := removeDatabase(fresh.path)
		if r.At = (time.Time{}); err == nil && snapshot != "" {
			r.At, err = copySnapshot(ctx, snapshot, fresh.path)
		}
		if err == nil {
			err = fresh.open(ctx)
		}
		if err == nil {
			if err = fresh.Snapshots.mend(ctx); err == nil {
				break
			}
			err = errors.Join(err, fresh.db.Close())
		}
		if snapshot == "" || !useless(err) {
			return fmt.Errorf("restore journal from %s: %w", cmp.Or(snapshot, "nothing"), err)
		}
		j.log.Warn().Err(err).Msg("cannot use a snapshot of the journal")
	}
	err := fresh.Snapshots.noteRestored(ctx, r)
	if err = errors.Join(err, fresh.db.Close()); err != nil {
		return fmt.Errorf("restore journal: %w", err)
	}
	if err := damage.MoveAside(j.path, aside); err != nil {
		return err
	}
	j.corrupt = aside
	j.log.Error().Str("moved_to", aside).Time("snapshot", r.At).
		Msg("journal was damaged: moved aside, going on with a snapshot")
	return j.putNew()
}

// useless reports whether an error says that a snapshot will never be of use. After any other, such as a full disk, a
// later start may still use it.
func useless(err error) bool {
	return damage.Is(err) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNewer) || errors.Is(err, ErrOlder)
}

// putNew puts the complete new file in the place of the journal.
func (j *Snapshots) putNew() error {
	if err := os.Rename(j.newPath(), j.path); err != nil {
		return fmt.Errorf("replace damaged journal: %w", err)
	}
	return disk.SyncDir(filepath.Dir(j.path))
}

// copySnapshot copies a snapshot, checks the copy, and returns its time.
func copySnapshot(ctx context.Context, from, to string) (at time.Time, err error) {
	source, err := os.Open(from)
	if err != nil {
		return at, err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return at, err
	}
	into, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return at, err
	}
	_, err = io.Copy(into, source)
	if err = errors.Join(err, into.Sync(), into.Close()); err != nil {
		return at, fmt.Errorf("copy snapshot: %w", err)
	}
	if err := CheckDatabase(ctx, to); err != nil {
		return at, err
	}
	db, err := openReadOnly(to)
	if err != nil {
		return at, err
	}
	defer db.Close()
	var version int
	if err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err == nil && version == 0 {
		err = fmt.Errorf("%w: %s has no tables", damage.Err, from) // cut to nothing
	}
	return info.ModTime().UTC(), err
}

func (j *Snapshots) newPath() string { return j.path + ".new" }

// removeDatabase removes a database and its other files, if they exist.
func removeDatabase(path string) error {
	for _, end := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove unfinished journal: %w", err)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
