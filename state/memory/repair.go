package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/state/damage"
)

// A damaged index is replaced in steps that a crash may interrupt anywhere:
//
//  1. What can be read of what only the index has goes to a new file, which becomes <index>.new.
//  2. The damaged file and its WAL move aside, and its marker is removed.
//  3. The new file takes its place.
//
// Two processes may find the same damage: a lock lets one of them repair it.

// repairTime is how long a process waits for another one to repair an index.
const repairTime = 20 * time.Second

// Salvage says what was saved from a damaged index.
type Salvage struct {
	From      string // the damaged file
	Documents int    // tasks, imports, and kinds of notes
	Entries   int    // of these
	Forgotten int
	Lost      int // pages that could not be read
}

// Salvaged returns what was saved when Open found the index damaged, or nil. The bot then stores its documents again.
func (x *Index) Salvaged() *Salvage { return x.salvaged }

func (x *Index) newPath() string { return x.path + ".new" }

// repair builds the index again, unless another process has done it.
func (x *Index) repair(ctx context.Context) error {
	unlock, err := lockFolder(ctx, filepath.Dir(x.path))
	if err != nil {
		return err
	}
	defer unlock()
	if err := x.open(ctx); !damage.Is(err) && !errors.Is(err, errOutdated) {
		return err // nil, or another trouble
	}
	building := x.newPath() + ".tmp"
	if err := removeDatabase(building); err != nil {
		return err
	}
	saved, lost, err := salvage(x.path)
	if err != nil {
		return fmt.Errorf("save what can be read: %w", err)
	}
	listed, err := readSidecar(x.path)
	if err != nil {
		return err
	}
	for _, hash := range listed {
		saved.forgotten[string(hash)] = max(saved.forgotten[string(hash)], 1)
	}
	if err := saved.write(ctx, building, x.room); err != nil {
		return fmt.Errorf("save what can be read: %w", errors.Join(err, removeDatabase(building)))
	}
	if err := os.Rename(building, x.newPath()); err != nil {
		return err
	}
	aside := damage.AsideName(x.path)
	if err := damage.MoveAside(x.path, aside); err != nil {
		return err
	}
	if err := os.Rename(x.newPath(), x.path); err != nil {
		return err
	}
	x.salvaged = &Salvage{From: aside, Documents: len(saved.docs), Forgotten: len(saved.forgotten), Lost: lost}
	for _, doc := range saved.docs {
		x.salvaged.Entries += len(doc.Entries)
	}
	return x.open(ctx)
}

// finishRepair completes a repair that a crash has interrupted before its last step.
func (x *Index) finishRepair(ctx context.Context) error {
	if exists(x.path) || !exists(x.newPath()) {
		return nil
	}
	unlock, err := lockFolder(ctx, filepath.Dir(x.path))
	if err != nil {
		return err
	}
	defer unlock()
	if exists(x.path) || !exists(x.newPath()) {
		return nil
	}
	return os.Rename(x.newPath(), x.path)
}

// lockFolder waits until no other process repairs an index.
func lockFolder(ctx context.Context, dir string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(repairTime); ; time.Sleep(50 * time.Millisecond) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(deadline) || ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), file.Close())
		}
	}
}

// Rebuild indexes again what only the index has and removes everything else, which the caller then stores again. What was
// forgotten stays forgotten.
func (x *Index) Rebuild(ctx context.Context) error {
	err := x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		docs, err := w.keptDocuments()
		if err != nil {
			return err
		}
		for _, statement := range []string{"DELETE FROM entry", "DELETE FROM chunk", "DELETE FROM unit", "DELETE FROM document", "INSERT INTO words (words) VALUES ('delete-all')"} {
			if _, err := w.exec(statement); err != nil {
				return err
			}
		}
		for i := range docs {
			if _, err := w.put(&docs[i]); err != nil {
				return err
			}
		}
		return w.finish()
	})
	return x.failed("rebuild memory", err)
}

// keptDocuments reads the documents that only the index has.
func (w *writer) keptDocuments() (docs []Document, err error) {
	ids, err := numbers(w.ctx, w.tx, "SELECT id FROM document WHERE origin <> '' ORDER BY id")
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		doc, err := w.document(id)
		if err != nil {
			return nil, err
		}
		if doc.Entries, err = w.entries("SELECT first, last, time, speaker, text, event FROM entry WHERE document = ? ORDER BY id", id); err != nil {
			return nil, err
		}
		alone(&doc)
		docs = append(docs, doc)
	}
	return docs, nil
}

// alone restores what is not stored: each note is a unit, and each answer and command.
func alone(doc *Document) {
	for i := range doc.Entries {
		doc.Entries[i].Alone = doc.Source == SourceNote || doc.Source == SourceAnswer || doc.Source == SourceExecution
	}
}

// Remove removes the index of a room, and what is left of damaged ones.
func Remove(dir, room string) error {
	names, err := filesOf(dir, room)
	for _, name := range names {
		crash.Count("remove memory")
		if gone := os.Remove(name); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	if err != nil {
		return fmt.Errorf("remove memory: %w", err)
	}
	return nil
}

// filesOf lists the files of an index. The index is the last one: its WAL must never meet another database.
func filesOf(dir, room string) ([]string, error) {
	path := Path(dir, room)
	names, err := filepath.Glob(path + "*")
	names = append(names, sidecar(path))
	slices.Reverse(names)
	return names, err
}

func removeDatabase(path string) error {
	for _, end := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove unfinished index: %w", err)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
