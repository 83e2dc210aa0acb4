package recall

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is needed first: all of this package take 4 MB and 10 ms,
// which a command or a bot without tasks does not need.
type pattern struct {
	text    string
	compile func() *regexp.Regexp
}

// patterns are all patterns, for a test.
var patterns []*pattern

// compiled returns a pattern. A text that is wrong panics at its first use.
func compiled(text string) *pattern {
	p := &pattern{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
	patterns = append(patterns, p)
	return p
}

func (p *pattern) MatchString(s string) bool { return p.compile().MatchString(s) }

func (p *pattern) FindString(s string) string { return p.compile().FindString(s) }

func (p *pattern) FindStringIndex(s string) []int { return p.compile().FindStringIndex(s) }

func (p *pattern) FindStringSubmatch(s string) []string { return p.compile().FindStringSubmatch(s) }

func (p *pattern) FindAllStringIndex(s string, n int) [][]int {
	return p.compile().FindAllStringIndex(s, n)
}

func (p *pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.compile().FindAllStringSubmatchIndex(s, n)
}

func (p *pattern) ReplaceAllString(s, with string) string {
	return p.compile().ReplaceAllString(s, with)
}

func (p *pattern) ReplaceAllStringFunc(s string, with func(string) string) string {
	return p.compile().ReplaceAllStringFunc(s, with)
}
