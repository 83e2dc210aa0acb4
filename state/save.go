package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/rs/zerolog"

	"matrix-tui/bot/crash"
	"matrix-tui/state/damage"
	"matrix-tui/state/sentence"
)

// OpenStore opens state.json in dir, which it creates if missing, and checks that the folder is writable. A file that
// does not parse is moved aside, never overwritten, and the store starts empty: see Corrupt. The caller holds the Lock
// of dir.
func OpenStore(dir string, log zerolog.Logger) (*Store, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	s := newStore(dir, log)
	if err := s.clearLeftovers(); err != nil {
		return nil, explain(err, s.path)
	}
	found, err := s.load()
	if err != nil {
		return nil, err
	}
	if found {
		err = s.probe()
	} else {
		err = s.write(s.now)
	}
	if err != nil {
		return nil, explain(err, s.path)
	}
	return s, nil
}

// ReadStore reads the current state.json from another process: it takes no lock and writes nothing. A missing file is
// an empty store. To change anything, use OpenStore.
func ReadStore(dir string) (*Store, error) {
	s := newStore(dir, zerolog.Nop())
	c, broken, err := read(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, explain(fmt.Errorf("read state: %w", err), s.path)
	}
	if s.now = c; broken != nil {
		return nil, sentence.Newf(fmt.Errorf("parse %s: %w", s.path, broken),
			"%s is damaged: start the bot, which moves the file aside and finds the rooms again.", s.path)
	}
	return s, nil
}

func newStore(dir string, log zerolog.Logger) *Store {
	s := &Store{path: filepath.Join(dir, "state.json"), log: log, now: newContents(), writing: make(chan struct{}, 1)}
	s.writing <- struct{}{}
	return s
}

// load reads the file into s.now and reports whether there was one to keep.
func (s *Store) load() (bool, error) {
	c, broken, err := read(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, explain(fmt.Errorf("read state: %w", err), s.path)
	}
	if broken == nil {
		s.now = c
		return true, nil
	}
	if s.corrupt, err = moveAside(s.path); err != nil {
		return false, explain(err, s.path)
	}
	s.log.Error().Err(broken).Str("moved_to", s.corrupt).Msg("state.json does not parse: moved aside, starting empty")
	return false, nil
}

// moveAside renames a damaged file.
func moveAside(path string) (string, error) {
	aside := damage.AsideName(path)
	if err := os.Rename(path, aside); err != nil {
		return "", fmt.Errorf("move damaged file aside: %w", err)
	}
	return aside, nil
}

// update applies a change and waits until it is in the file. apply reports whether it changed anything.
func (s *Store) update(ctx context.Context, apply func(*contents) bool) error {
	s.mu.Lock()
	if apply(s.now) {
		s.changed++
	}
	mine, seen := s.changed, s.attempts
	clean := s.saved >= mine
	s.mu.Unlock()
	if clean {
		return nil
	}
	return s.flush(ctx, mine, seen)
}

// Flush writes what an earlier failed write left in memory, if anything.
func (s *Store) Flush(ctx context.Context) error {
	return s.update(ctx, func(*contents) bool { return false })
}

// flush waits until the change numbered mine is on disk. One caller at a time writes all changes so far; the others
// find their change saved when their turn comes. If an attempt that started after the change (its number is above seen)
// failed, it failed for this caller too.
func (s *Store) flush(ctx context.Context, mine, seen uint64) error {
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
	copied, upTo := s.now.snapshot(), s.changed
	s.mu.Unlock()

	err := explain(s.write(copied), s.path)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastErr = err
	if err == nil {
		s.saved = upTo
	}
	return err
}

// write replaces the file atomically.
func (s *Store) write(c *contents) error {
	file, err := renameio.NewPendingFile(s.path, renameio.WithTempDir(filepath.Dir(s.path)), renameio.WithStaticPermissions(0o600))
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
	return syncDir(filepath.Dir(s.path))
}

// probe checks that the folder is writable without writing the whole file.
func (s *Store) probe() error {
	file, err := renameio.NewPendingFile(s.path, renameio.WithTempDir(filepath.Dir(s.path)))
	if err != nil {
		return fmt.Errorf("check that state can be written: %w", err)
	}
	defer file.Cleanup()
	if _, err := file.Write(make([]byte, 4096)); err != nil {
		return fmt.Errorf("check that state can be written: %w", err)
	}
	if err := file.Sync(); err != nil {
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

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
