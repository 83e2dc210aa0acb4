package state

import (
	"context"
	"fmt"
	"maps"
	"matrix-tui/bot/crash"
	"matrix-tui/state/disk"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
)

// fileShare bounds what state.json costs: the time between two writes is at least this many times what the last took.
const fileShare = 20

func (s *live) markStale() {
	select {
	case s.stale <- struct{}{}:
	default:
	}
}

// keepFile writes state.json whenever it is stale, until the store is closed. Changes during a write or the pause after
// it share the next write.
func (s *Store) keepFile() {
	for {
		select {
		case <-s.closing:
			return
		case <-s.stale:
		}
		begun := time.Now()
		err := s.writeFile()
		pause := fileShare * time.Since(begun)
		if err != nil {
			s.log.Warn().Err(err).Msg("cannot write state.json: its content is in the journal")
			s.markStale()
			pause = time.Minute
		}
		select {
		case <-s.closing:
			return
		case <-time.After(pause):
		}
	}
}

// Rewrite writes state.json at once, because something was removed that it must not keep. If that fails, it is written
// later, as after any other change.
func (s *Store) Rewrite() {
	if err := s.writeFile(); err != nil {
		s.log.Warn().Err(err).Msg("cannot write state.json: it has what was removed until it can be written")
		s.markStale()
	}
}

// writeFile replaces state.json atomically by what the store knows.
func (s *Store) writeFile() error {
	s.writing.Lock() // an older state must not take the place of a newer one
	defer s.writing.Unlock()
	select {
	case <-s.stale:
	default:
	}
	s.mu.Lock()
	now := stateFile{rooms: maps.Clone(s.rooms), read: s.journal.checkedHistory, unknown: s.unknown}
	s.mu.Unlock()
	if err := now.replace(s.path); err != nil {
		return disk.Explain(fmt.Errorf("save state: %w", err), s.path)
	}
	return nil
}

func (f stateFile) replace(path string) error {
	file, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer file.Cleanup()
	if err := f.writeTo(context.Background(), file); err != nil {
		return err
	}
	crash.Count("write state.json")
	if err := file.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(path))
}
