package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/renameio/v2"
	"github.com/rs/zerolog"

	"matrix-tui/bot/crash"
)

// Source is the policy file of a state folder. It is read again when it has changed; an invalid file leaves the policy
// unchanged. Until an existing file was valid once, only owners are heard. All methods can be called from any
// goroutine.
type Source struct {
	path string
	log  zerolog.Logger

	mu    sync.Mutex
	now   *Policy
	seen  fs.FileInfo // the file that was read last, or nil
	wrong error
	rules bool // now is from a file that says something
}

// Open reads policy.yaml in a folder; a missing file is not an error.
func Open(dir string, log zerolog.Logger) *Source {
	s := &Source{path: filepath.Join(dir, "policy.yaml"), log: log}
	s.refresh()
	return s
}

// Now returns the current policy, which never changes.
func (s *Source) Now() *Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	return s.now
}

// Room returns the current settings of a room.
func (s *Source) Room(id string) Room { return s.Now().Room(id) }

// Decide is [Policy.Decide] with the current policy.
func (s *Source) Decide(q Query) Decision { return s.Now().Decide(q) }

// Err returns what is wrong with the file, or nil.
func (s *Source) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	return s.wrong
}

// refresh reads the file if it has changed.
func (s *Source) refresh() {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		s.now, s.wrong, s.seen, s.rules = nil, nil, nil, false
		return
	}
	if err == nil && sameFile(info, s.seen) {
		return
	}
	var p *Policy
	blank := false
	if err == nil {
		s.seen = info
		var data []byte
		if data, err = readBytes(s.path); err == nil {
			p, err = Parse(data)
		}
		if blank = len(bytes.TrimSpace(data)) == 0; blank && err == nil && s.rules { // somebody is writing it
			err = errors.New("it is empty: delete the file if there are to be no rules")
		}
	}
	if err != nil {
		if s.wrong == nil || s.wrong.Error() != err.Error() {
			s.log.Error().Err(err).Str("file", s.path).Msg("policy.yaml is invalid: keeping the previous policy")
		}
		s.wrong = err
		if s.now == nil {
			s.now = ownersOnly()
		}
		return
	}
	s.now, s.wrong, s.rules = p, nil, !blank
	s.log.Info().Str("file", s.path).Msg("policy read")
}

// readBytes reads at most one byte more than a policy file may have.
func readBytes(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its other end
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, MaxFile+1))
}

// sameFile reports whether a file is unchanged; was may be nil.
func sameFile(is, was fs.FileInfo) bool {
	return was != nil && os.SameFile(is, was) && is.Size() == was.Size() && is.ModTime().Equal(was.ModTime())
}

// writeBytes replaces a file atomically; only its owner can read it.
func writeBytes(path string, data []byte) error {
	file, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer file.Cleanup()
	if _, err := file.Write(data); err != nil {
		return err
	}
	crash.Count("write " + filepath.Base(path))
	return file.CloseAtomicallyReplace()
}
