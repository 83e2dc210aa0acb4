package recall

import (
	"regexp"
	"sync"
)

// patterns are the texts of all patterns, for a test.
var patterns []string

// compiled returns a regular expression that is compiled when it is needed first: all of this package take 4 MB and
// 10 ms, which a command or a bot without tasks does not need. A text that is wrong panics at its first use.
func compiled(text string) func() *regexp.Regexp {
	patterns = append(patterns, text)
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
