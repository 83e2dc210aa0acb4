package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"matrix-tui/state/damage"
	"matrix-tui/state/disk"
	"matrix-tui/state/sentence"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"
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

// OpenStore returns the store of a journal, and writes state.json next to it, unless it is as it is to be: the journal
// counts. The file counts for a new journal, which took the place of a lost one or of none, and adds to one that was
// restored from a snapshot. A file that does not parse is moved aside, never overwritten: see Corrupt.
func OpenStore(ctx context.Context, j *Journal, log zerolog.Logger) (*Store, error) {
	s := newStore(filepath.Dir(j.path), log)
	s.journal = j
	known, err := j.rooms(ctx, false)
	if err != nil {
		return nil, err
	}
	restored, err := j.Snapshots.Restored(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.removeLeftovers(); err != nil {
		return nil, disk.Explain(err, s.path)
	}
	// What the file has was checked when it was written, so what is the same needs no check.
	if known != nil && restored == nil && (stateFile{rooms: known, read: j.historyText}).isAt(ctx, s.path) {
		s.rooms = known
		s.keeper.Go(s.keepFile)
		return s, nil
	}
	if known, err = j.rooms(ctx, true); err != nil { // it takes a while to parse all histories
		return nil, err
	}
	file, err := s.load()
	if err != nil {
		return nil, disk.Explain(err, s.path)
	}
	if known != nil {
		s.rooms, s.corrupt = known, "" // nothing is lost
		if restored != nil && file.newer(restored.At) {
			s.takeNewer(file.rooms)
		}
	} else {
		for id, r := range file.rooms {
			s.set(id, r)
		}
		if !file.written.IsZero() && restored == nil && j.fresh {
			if err := j.Snapshots.noteRestored(ctx, Restored{}); err != nil {
				return nil, err
			}
		}
	}
	s.unknown = file.unknown
	if known == nil || len(s.changed) > 0 {
		if err := s.save(ctx); err != nil {
			return nil, err
		}
	}
	s.release(slices.Collect(maps.Keys(s.rooms)))
	if err := s.writeFile(); err != nil {
		return nil, err
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
		known, err := j.rooms(context.Background(), true)
		if err = errors.Join(err, j.Close()); err != nil {
			return nil, err
		}
		if known != nil {
			s.rooms = known
			return s, nil
		}
	} else if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrOlder) {
		return nil, err
	}
	file, err := readFile(s.path)
	switch {
	case errors.Is(err, errBroken):
		return nil, sentence.Newf(fmt.Errorf("parse %s: %w", s.path, err),
			"%s is damaged: start the bot, which moves the file aside and finds the rooms again.", s.path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, disk.Explain(fmt.Errorf("read state: %w", err), s.path)
	}
	maps.Copy(s.rooms, file.rooms)
	return s, nil
}

func newStore(dir string, log zerolog.Logger) *Store {
	l := &live{stale: make(chan struct{}, 1), rooms: map[string]room{}, changed: map[string]int{}}
	return &Store{live: l, Containers: Containers{l}, Conversations: Conversations{l}, Packages: Packages{l},
		path: filepath.Join(dir, "state.json"), log: log, closing: make(chan struct{})}
}

// Close saves what is left, and ends the writing of state.json. Close the journal after it.
func (s *Store) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := s.Flush(ctx)
	s.ended.Do(func() { close(s.closing) })
	s.keeper.Wait()
	if len(s.stale) > 0 {
		err = errors.Join(err, s.writeFile())
	}
	return err
}

// removeLeftovers removes the pending files of a process that was killed during a write: each is as large as the whole
// state.
func (s *Store) removeLeftovers() error {
	dir := filepath.Dir(s.path)
	leftovers, err := fs.Glob(os.DirFS(dir), "."+filepath.Base(s.path)+"[0-9]*")
	if err != nil {
		return err
	}
	for _, name := range leftovers {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove leftover: %w", err)
		}
	}
	return nil
}

// load reads state.json, and moves a damaged one aside.
func (s *Store) load() (stateFile, error) {
	file, err := readFile(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stateFile{}, nil
	case errors.Is(err, errBroken):
		aside := damage.AsideName(s.path)
		if err := os.Rename(s.path, aside); err != nil {
			return stateFile{}, fmt.Errorf("move damaged file aside: %w", err)
		}
		s.corrupt = aside
		s.log.Error().Err(err).Str("moved_to", aside).Msg("state.json does not parse: moved aside")
		return stateFile{}, nil
	case err != nil:
		return stateFile{}, fmt.Errorf("read state: %w", err)
	}
	return file, nil
}

// takeNewer takes over a state.json that is newer than the snapshot that the rooms are from. Turns that the file has no
// space for stay. All sessions end: somebody may have ended them since, and they would know what was deleted.
func (s *Store) takeNewer(file map[string]room) {
	ids := maps.Clone(file)
	maps.Copy(ids, s.rooms)
	for id := range ids {
		r, newer := s.rooms[id], file[id]
		r.endSession()
		r.container, r.volumes = newer.container, newer.volumes
		there := map[string]bool{}
		for _, raw := range newer.history {
			there[turnKey(raw)] = true
		}
		older := slices.DeleteFunc(slices.Clone(r.history), func(raw json.RawMessage) bool { return there[turnKey(raw)] })
		if r.history = nil; len(newer.history) > 0 {
			r.history = append(older, newer.history...).window()
		}
		s.set(id, r)
	}
}
