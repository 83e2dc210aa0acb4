package state

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/google/renameio/v2"

	"matrix-tui/bot/crash"
	"matrix-tui/state/damage"
	"matrix-tui/state/disk"
)

// fileShare bounds what state.json costs: the time between two writes is at least this many times what the last took.
const fileShare = 20

// newerThanSnapshot reports whether the journal was restored from a snapshot that is older than state.json.
func (s *Store) newerThanSnapshot(ctx context.Context) (bool, error) {
	restored, err := s.journal.Snapshots.Restored(ctx)
	if err != nil || restored == nil || restored.At.IsZero() {
		return false, err
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return false, disk.Explain(fmt.Errorf("read state: %w", err), s.path)
	}
	return info.ModTime().After(restored.At), nil
}

// agree writes state.json if it differs from what the store knows.
func (s *Store) agree(told bool) error {
	file := s.now.projection()
	want, have := sha256.New(), sha256.New()
	if err := file.writeTo(want); err != nil {
		return err
	}
	if old, err := os.Open(s.path); err == nil {
		_, err = io.Copy(have, old)
		if err = errors.Join(err, old.Close()); err == nil && slices.Equal(want.Sum(nil), have.Sum(nil)) {
			return s.probe()
		}
		if told {
			s.log.Warn().Msg("state.json differs from the journal: written again")
		}
	}
	return s.write(file)
}

// load reads the file, or returns nil if there is none to keep.
func (s *Store) load() (*contents, error) {
	c, broken, err := read(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, disk.Explain(fmt.Errorf("read state: %w", err), s.path)
	}
	if broken == nil {
		return c, nil
	}
	aside := damage.AsideName(s.path)
	if err := os.Rename(s.path, aside); err != nil {
		return nil, disk.Explain(fmt.Errorf("move damaged file aside: %w", err), s.path)
	}
	s.corrupt = aside
	s.log.Error().Err(broken).Str("moved_to", s.corrupt).Msg("state.json does not parse: moved aside")
	return nil, nil
}

// shown returns what state.json says about rooms, for a comparison.
func (c *contents) shown(rooms []string) (all []any) {
	for _, room := range rooms {
		ts := c.history[room] // never changed in place
		all = append(all, c.containers[room], c.volumes[room], len(ts), unsafe.SliceData(ts))
	}
	return all
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
		pause := time.Duration(0)
		if err := s.writeNow(); err != nil {
			s.log.Warn().Err(err).Msg("cannot write state.json: its content is in the journal")
			pause = time.Minute
			select {
			case s.stale <- struct{}{}:
			default:
			}
		}
		select {
		case <-s.closing:
			return
		case <-time.After(max(pause, fileShare*time.Since(begun))):
		}
	}
}

func (s *Store) writeNow() error {
	s.mu.Lock()
	file := s.now.projection()
	s.mu.Unlock()
	return disk.Explain(s.write(file), s.path)
}

// write replaces the file atomically.
func (s *Store) write(c *contents) error {
	file, err := renameio.NewPendingFile(s.path, renameio.WithTempDir(filepath.Dir(s.path)),
		renameio.WithStaticPermissions(0o600))
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	defer file.Cleanup()
	if err := c.writeTo(file); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	crash.Count("write state.json")
	if err := file.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	return disk.SyncDir(filepath.Dir(s.path))
}

// probe checks that the folder is writable without writing the whole file.
func (s *Store) probe() error {
	file, err := renameio.NewPendingFile(s.path, renameio.WithTempDir(filepath.Dir(s.path)))
	if err != nil {
		return fmt.Errorf("check that state can be written: %w", err)
	}
	defer file.Cleanup()
	if _, err = file.Write(make([]byte, 4096)); err == nil {
		err = file.Sync()
	}
	if err != nil {
		return fmt.Errorf("check that state can be written: %w", err)
	}
	return nil
}

// clearLeftovers removes the pending files of a process that was killed during a write: each is as large as the whole
// state.
func (s *Store) clearLeftovers() error {
	entries, err := os.ReadDir(filepath.Dir(s.path))
	if err != nil {
		return fmt.Errorf("list state directory: %w", err)
	}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), "."+filepath.Base(s.path))
		if !ok || strings.Trim(digits, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		if err := os.Remove(filepath.Join(filepath.Dir(s.path), e.Name())); err != nil {
			return fmt.Errorf("remove leftover: %w", err)
		}
	}
	return nil
}
