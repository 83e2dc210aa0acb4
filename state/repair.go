package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"matrix-tui/state/damage"
)

// A damaged journal is replaced in steps that a crash may interrupt anywhere:
//
//  1. Whoever meets the damage writes the marker and ends the process.
//  2. The next start copies every readable row to a new file, journal.db.new.
//  3. It moves the damaged file and its WAL aside, removes the marker, and puts the new
//     file in their place.
//
// While the marker exists the journal is not opened. A complete journal.db.new without
// a marker belongs in the place of journal.db.

// noteDamage leaves the marker and reports to OnDamage if an error says that the journal
// is damaged.
func (j *Journal) noteDamage(err error) {
	if !damage.Is(err) || j.readOnly {
		return
	}
	j.damageOnce.Do(func() {
		if marked := damage.Mark(j.path, err); marked != nil {
			j.log.Error().Err(marked).Msg("cannot leave a marker at the damaged journal")
		}
		j.log.Error().Err(err).Str("journal", j.path).Msg("journal is damaged: the next start saves what can be read")
		if report := j.onDamage.Load(); report != nil {
			(*report)(explain(fmt.Errorf("journal is damaged: %w", err), j.path))
		}
	})
}

// OnDamage sets the function that is called, once, when the journal turns out to be
// damaged. The process must end then: the next start repairs the journal.
func (j *Journal) OnDamage(report func(error)) { j.onDamage.Store(&report) }

// finishRepair completes a repair that a crash interrupted after the new file was
// complete.
func (j *Journal) finishRepair(ctx context.Context) error {
	if !exists(j.newPath()) {
		return nil
	}
	if exists(j.path) && !damage.Marked(j.path) { // somebody has put another file in its place
		return os.Remove(j.newPath())
	}
	fresh := &Journal{path: j.newPath(), log: j.log}
	if err := fresh.connect(fresh.params()); err != nil {
		return err
	}
	report, err := fresh.Salvage(ctx)
	if closed := fresh.db.Close(); err == nil {
		err = closed
	}
	if err != nil || report == nil { // a leftover that is none of ours
		return errors.Join(err, os.Remove(j.newPath()))
	}
	return j.replace(report)
}

// repair replaces a damaged journal with a new one that contains what can be read.
func (j *Journal) repair(ctx context.Context, why error) error {
	if err := damage.Mark(j.path, why); err != nil {
		return err
	}
	building := j.newPath() + ".tmp"
	if err := removeDatabase(building); err != nil {
		return err
	}
	report, err := j.salvage(ctx, building)
	if err != nil {
		return errors.Join(fmt.Errorf("save what can be read: %w", err), removeDatabase(building))
	}
	if err := os.Rename(building, j.newPath()); err != nil {
		return fmt.Errorf("replace damaged journal: %w", err)
	}
	if err := syncDir(filepath.Dir(j.path)); err != nil {
		return err
	}
	return j.replace(report)
}

// replace moves the damaged file aside and puts the new one in its place.
func (j *Journal) replace(report *Salvage) error {
	aside := filepath.Join(filepath.Dir(j.path), report.From)
	if err := damage.MoveAside(j.path, aside); err != nil {
		return err
	}
	if err := os.Rename(j.newPath(), j.path); err != nil {
		return fmt.Errorf("replace damaged journal: %w", err)
	}
	j.corrupt = aside
	j.log.Error().Str("moved_to", aside).Int("pages", report.Pages).Int("lost_pages", report.LostPages).Int("lost_rows", report.LostRows).
		Int("events", report.Events).Int("tasks", report.Tasks).Int("messages", report.Messages).
		Msg("journal was damaged: moved aside, going on with what could be read")
	return syncDir(filepath.Dir(j.path))
}

func (j *Journal) newPath() string { return j.path + ".new" }

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
