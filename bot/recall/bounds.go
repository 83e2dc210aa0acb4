package recall

import (
	"slices"

	"matrix-tui/state/memory"
)

// share is how large the bot lets a file become, in bytes.
func share(name string) int {
	if name == mainFile {
		return maxMain
	}
	return maxLog
}

// merged returns a file as it should be. A file that has reached its share does not grow.
func (s *sync1) merged(name, text string, lines []memory.Line) string {
	out := merge(name, text, lines, s.forgotten.Text)
	if len(out) <= share(name) || len(out) <= len(text) {
		return out
	}
	gone := slices.DeleteFunc(slices.Clone(lines), func(l memory.Line) bool { return !l.Gone })
	s.wait(name, slices.DeleteFunc(slices.Clone(lines), func(l memory.Line) bool { return l.Gone }))
	return merge(name, text, gone, s.forgotten.Text)
}

// wait leaves lines for which their file has no space until later.
func (s *sync1) wait(name string, lines []memory.Line) {
	if len(lines) > 0 {
		s.unwritten, s.tooLarge = append(s.unwritten, lines...), name
	}
}

// noteFull logs once that lines wait for room in their file.
func (s *sync1) noteFull() {
	if s.tooLarge != "" && !s.full {
		s.log.Warn().Str("room", s.x.Room()).Str("file", s.tooLarge).Msg("a memory file is too large: what is new is only in the index")
	}
	s.full = s.tooLarge != ""
}
