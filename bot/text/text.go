// Package text prepares what a room is shown: it renders Markdown as the HTML that Matrix clients support, splits long
// answers into parts that fit, removes characters from other people's text that could hide or disguise something, and
// formats numbers. Everything is pure: no Matrix types, no files, no clock.
package text

import (
	"strconv"
	"strings"

	"matrix-tui/state/clean"
)

// Cut keeps at most max bytes of s, and says if there was more.
func Cut(s string, max int) string { return clean.Cut(s, max) }

// Code quotes one line of somebody else's text, at most 200 bytes of it, so that Markdown does not change it; "" for an
// empty one.
func Code(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "�"))
	if s == "" {
		return ""
	}
	s = strings.ReplaceAll(Cut(s, 200), "\n", " ")
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	if s[0] == '`' || s[len(s)-1] == '`' {
		return ticks + " " + s + " " + ticks
	}
	return ticks + s + ticks
}

// longestRun returns the length of the longest run of one character.
func longestRun(s string, of byte) (longest int) {
	run := 0
	for i := range len(s) {
		if run++; s[i] != of {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// Fence shows s as a code block, whatever it contains.
func Fence(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(s, "\n") + "\n" + fence
}

// OneLine makes one line of at most max bytes of somebody else's text, without
// characters that are invisible or reorder the text around them.
func OneLine(s string, max int) string {
	return clean.Rules{OneLine: true, Invisible: true, Bytes: max}.Text(s)
}

// Plural writes a number with the right form of the word: "No task", "1 task", "2 tasks".
func Plural(n int, one, many string) string {
	switch n {
	case 0:
		return "No " + one
	case 1:
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Few writes a number within a sentence: "no run", "1 run", "2 runs".
func Few(n int64, word string) string { return strings.ToLower(Plural(int(n), word, word+"s")) }
