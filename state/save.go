package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/state/disk"
	"matrix-tui/state/sentence"
)

// Open opens journal.db and state.json in dir, which it creates if missing. The caller holds the Lock of dir, and
// closes the store first.
func Open(ctx context.Context, dir string, log zerolog.Logger) (*Journal, *Store, error) {
	j, err := OpenJournal(ctx, filepath.Join(dir, "journal.db"), log)
	if err != nil {
		return nil, nil, err
	}
	s, err := OpenStore(ctx, j, log)
	if err != nil {
		return nil, nil, errors.Join(err, j.Close())
	}
	return j, s, nil
}

// OpenStore returns the store of a journal, and makes state.json next to it agree: the journal counts. The file counts
// for a new journal, which took the place of a lost one or of none, and adds to one that was restored from a snapshot.
// A file that does not parse is moved aside, never overwritten: see Corrupt.
func OpenStore(ctx context.Context, j *Journal, log zerolog.Logger) (*Store, error) {
	s := newStore(filepath.Dir(j.path), log)
	s.journal = j
	if err := s.clearLeftovers(); err != nil {
		return nil, disk.Explain(err, s.path)
	}
	file, err := s.load()
	if err != nil {
		return nil, err
	}
	known, err := contentsOf(ctx, j)
	if err != nil {
		return nil, err
	}
	switch {
	case known == nil && file != nil:
		s.now = file
		s.now.changed = file.rooms()
		if restored, err := j.Snapshots.Restored(ctx); err != nil {
			return nil, err
		} else if restored == nil && j.fresh {
			if err := j.Snapshots.noteRestored(ctx, Restored{}); err != nil {
				return nil, err
			}
		}
	case known != nil:
		s.now = known
	}
	if known != nil {
		s.corrupt = "" // nothing is lost
	}
	if file != nil && known != nil {
		s.now.unknown = file.unknown
		if newer, err := s.newerThanSnapshot(ctx); err != nil {
			return nil, err
		} else if newer {
			s.now.takeNewer(file)
		}
	}
	if known == nil || len(s.now.changed) > 0 {
		s.dirty = 1
		if err := s.Flush(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.agree(file != nil && known != nil); err != nil {
		return nil, disk.Explain(err, s.path)
	}
	s.keeper.Go(s.keepFile)
	return s, nil
}

// ReadStore reads the rooms of a state directory from another process: it takes no lock and writes nothing. Without a
// journal of this release it reads state.json; a missing one is an empty store.
func ReadStore(dir string) (*Store, error) {
	s := newStore(dir, zerolog.Nop())
	j, err := ReadJournal(context.Background(), filepath.Join(dir, "journal.db"))
	if err == nil {
		known, err := contentsOf(context.Background(), j)
		if err = errors.Join(err, j.Close()); err != nil {
			return nil, err
		}
		if known != nil {
			s.now = known
			return s, nil
		}
	} else if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrOlder) {
		return nil, err
	}
	c, broken, err := read(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, disk.Explain(fmt.Errorf("read state: %w", err), s.path)
	}
	if s.now = c; broken != nil {
		return nil, sentence.Newf(fmt.Errorf("parse %s: %w", s.path, broken),
			"%s is damaged: start the bot, which moves the file aside and finds the rooms again.", s.path)
	}
	return s, nil
}

func newStore(dir string, log zerolog.Logger) *Store {
	l := &live{now: newContents(), writing: make(chan struct{}, 1), stale: make(chan struct{}, 1)}
	l.writing <- struct{}{}
	s := &Store{live: l, path: filepath.Join(dir, "state.json"), log: log, closing: make(chan struct{})}
	s.Containers, s.Conversations, s.Packages = Containers{l}, Conversations{l}, Packages{l}
	return s
}

// update applies a change to rooms and waits until it is in the journal. apply reports whether it changed anything.
func (s *live) update(ctx context.Context, apply func(*contents) bool, rooms ...string) error {
	s.mu.Lock()
	before := s.now.shown(rooms)
	if apply(s.now) {
		s.dirty++
		for _, room := range rooms {
			s.now.changed[room] = true
		}
		s.shown = s.shown || !slices.Equal(before, s.now.shown(rooms))
	}
	mine, seen := s.dirty, s.attempts
	clean := s.saved >= mine
	s.mu.Unlock()
	if clean {
		return nil
	}
	return s.flush(ctx, mine, seen)
}

// Flush saves what an earlier failed save left in memory, if anything.
func (s *live) Flush(ctx context.Context) error {
	return s.update(ctx, func(*contents) bool { return false })
}

// saveTimeout bounds a save, which the end of a caller's context does not interrupt.
const saveTimeout = 30 * time.Second

// flush waits until the change numbered mine is in the journal. One caller at a time saves all changes so far; the
// others find their change saved when their turn comes. If an attempt that started after the change (its number is
// above seen) failed, it failed for this caller too.
func (s *live) flush(ctx context.Context, mine, seen uint64) error {
	select {
	case <-s.writing:
		defer func() { s.writing <- struct{}{} }()
	case <-ctx.Done():
		return fmt.Errorf("save state: %w", ctx.Err())
	}
	s.mu.Lock()
	if s.saved >= mine {
		s.mu.Unlock()
		return nil
	}
	if s.attempts > seen && s.lastErr != nil {
		defer s.mu.Unlock()
		return s.lastErr
	}
	s.attempts++
	var rows []Room
	for room := range s.now.changed {
		rows = append(rows, s.now.row(room))
	}
	upTo, shown := s.dirty, s.shown
	s.now.changed, s.shown = map[string]bool{}, false
	s.mu.Unlock()

	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout) // it is for others, too
	err := s.journal.saveRooms(saving, rows)
	cancel()

	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastErr = err
	if err != nil {
		s.shown = s.shown || shown
		for _, r := range rows {
			s.now.changed[r.ID] = true
		}
		return err
	}
	s.saved = upTo
	if shown {
		select {
		case s.stale <- struct{}{}:
		default:
		}
	}
	return nil
}

// Close saves what is left, and ends the writing of state.json. Close the journal after it.
func (s *Store) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := s.Flush(ctx)
	s.ended.Do(func() { close(s.closing) })
	s.keeper.Wait()
	select {
	case <-s.stale:
		err = errors.Join(err, s.writeNow())
	default:
	}
	return err
}
