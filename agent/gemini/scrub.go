package gemini

import (
	"bytes"
	"strings"
)

// minScrubbed is the minimum length of a key for it to be searched in answers. A shorter one, which occurs only in
// tests, would match ordinary words.
const minScrubbed = 16

// scrubber replaces a key in a stream with asterisks, even if the key is split between
// pieces. The length does not change.
type scrubber struct {
	key  []byte
	held []byte // end of the stream so far that may be the beginning of the key
}

// next takes a piece and returns what can be passed on; the slice is valid until the next call.
func (s *scrubber) next(p []byte) []byte {
	if len(s.key) < minScrubbed {
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

// rest returns what was buffered when the stream ended.
func (s *scrubber) rest() []byte {
	out := s.held
	s.held = nil
	return out
}

func (s *scrubber) text(v string) string {
	if len(s.key) < minScrubbed {
		return v
	}
	return strings.ReplaceAll(v, string(s.key), strings.Repeat("*", len(s.key)))
}
