package gateway

import (
	"bytes"
	"strings"
)

// minKey is the length from which on a key is looked for in answers: a short one (there are none but in tests)
// would be found in ordinary words.
const minKey = 16

// scrubber puts asterisks in the place of a key, wherever a stream is cut into pieces. The length stays.
type scrubber struct {
	key  []byte
	held []byte // end of the stream so far that may be the beginning of the key
}

// next takes a piece and gives what can go on; the slice is valid until the next call.
func (s *scrubber) next(p []byte) []byte {
	if len(s.key) < minKey {
		return p
	}
	all := append(s.held, p...)
	for from := 0; ; {
		i := bytes.Index(all[from:], s.key)
		if i < 0 {
			break
		}
		for j := range s.key {
			all[from+i+j] = '*'
		}
		from += i + len(s.key)
	}
	keep := 0
	for n := min(len(s.key)-1, len(all)); n > 0; n-- {
		if bytes.HasPrefix(s.key, all[len(all)-n:]) {
			keep = n
			break
		}
	}
	out := all[: len(all)-keep : len(all)-keep]
	s.held = append([]byte(nil), all[len(all)-keep:]...)
	return out
}

// rest is what was held back when the stream ended.
func (s *scrubber) rest() []byte {
	out := s.held
	s.held = nil
	return out
}

func (s *scrubber) text(v string) string {
	if len(s.key) < minKey {
		return v
	}
	return strings.ReplaceAll(v, string(s.key), strings.Repeat("*", len(s.key)))
}
