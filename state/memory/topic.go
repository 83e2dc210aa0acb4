package memory

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"matrix-tui/state/clean"
)

const (
	// maxTopicText bounds the text from which topics are taken, in bytes.
	maxTopicText = 8 << 10
	// leastTopic is the shortest topic, in characters.
	leastTopic = 3
)

// chatter are words of requests that say nothing about their topic.
var chatter = set("please thanks thank hello hey yes let make get got use using want need try help tell give show " +
	"bitte danke")

// Topics returns at most n telling words of a text, in its order: those that it repeats, then the first ones. Words
// with digits are left out: they may be parts of keys.
func Topics(text string, n int) []string {
	type topic struct {
		word         string
		place, count int
	}
	found := map[string]*topic{} // by stem
	var all []*topic
	words(clean.Clip(text, maxTopicText), func(word string) {
		if stopWords[word] || chatter[word] || utf8.RuneCountInString(word) < leastTopic ||
			strings.ContainsFunc(word, unicode.IsDigit) {
			return
		}
		stem := stemOf(word)
		if found[stem] == nil {
			found[stem] = &topic{word: word, place: len(all)}
			all = append(all, found[stem])
		}
		found[stem].count++
	})
	slices.SortStableFunc(all, func(a, b *topic) int { return cmp.Compare(b.count, a.count) })
	all = all[:min(len(all), n)]
	slices.SortFunc(all, func(a, b *topic) int { return cmp.Compare(a.place, b.place) })
	var out []string
	for _, one := range all {
		out = append(out, one.word)
	}
	return out
}
