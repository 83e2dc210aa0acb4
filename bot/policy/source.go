package policy

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Source is the policy file of a state folder. It is read again when it has
// changed; a file that is wrong leaves the policy as it was.
type Source struct {
	path string
	log  zerolog.Logger

	mu      sync.Mutex
	now     *Policy
	size    int64
	changed time.Time
	wrong   error
}

// Open looks at policy.yaml in a folder; a missing one is no error.
func Open(dir string, log zerolog.Logger) *Source {
	s := &Source{path: filepath.Join(dir, "policy.yaml"), log: log}
	s.refresh()
	return s
}

// Room is what holds in a room now.
func (s *Source) Room(id string) Room {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	return s.now.Room(id)
}

// Err says what is wrong with the file as it is, nil for nothing.
func (s *Source) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	return s.wrong
}

// refresh reads the file if it is another than before.
func (s *Source) refresh() {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		s.now, s.wrong, s.size, s.changed = nil, nil, 0, time.Time{}
		return
	}
	if err == nil && info.Size() == s.size && info.ModTime().Equal(s.changed) {
		return
	}
	var p *Policy
	if err == nil {
		s.size, s.changed = info.Size(), info.ModTime()
		p, err = readFile(s.path)
	}
	if err != nil {
		if s.wrong == nil || s.wrong.Error() != err.Error() {
			s.log.Error().Err(err).Str("file", s.path).Msg("policy.yaml is not right: the policy stays as it was")
		}
		s.wrong = err
		return
	}
	s.now, s.wrong = p, nil
	s.log.Info().Str("file", s.path).Msg("policy read")
}

func readFile(path string) (*Policy, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err != nil {
		return nil, err
	}
	return Parse(data)
}
