package agent

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"matrix-tui/state/clean"
)

// MaxOptions is how many options of a question can be selected by reaction.
const MaxOptions = 10

// maxOption bounds one option's text, in bytes.
const maxOption = 500

// Option is one of the choices in a question.
type Option struct {
	Key    string // the reaction: 1️⃣ to 🔟, or 🇦 to 🇯
	Answer string // its text as listed: "2. staging"
}

// optionLine is a label (a number or letter, perhaps after "Option", a bullet or in bold) and the option's text.
var optionLine = regexp.MustCompile(`^ {0,3}(?:[-*+•][ \t]+)?(\*\*|__)?\(?(?:(?i:option)[ \t]+)?([0-9]{1,2}|[A-Za-z])(\*\*|__)?[.):](\*\*|__)?[ \t]+(\S.*)$`)

// Options returns the choices that a question lists: numbered from 1 or lettered from a
// or A, at least two. If there are several lists, the last one counts, because findings
// come before the question. Lists in code and nested lists do not count. At most
// MaxOptions are returned.
func Options(question string) []Option {
	options, _, _ := optionList(question)
	return options
}

// WithoutOptions returns a question without the lines of its options.
func WithoutOptions(question string) string {
	_, from, to := optionList(question)
	return strings.TrimSpace(strings.TrimRight(question[:from], "\n") + "\n\n" + strings.TrimLeft(question[to:], "\n"))
}

// optionList returns the options of a question, and where its lines begin and end.
func optionList(question string) (last []Option, from, to int) {
	var list []Option
	var first string // label of the list's first option
	var open fence
	begin, end, within := 0, 0, false // within: the line continues the last option
	for line := range strings.Lines(question) {
		start := end
		end += len(line)
		f := fenceOf([]byte(line))
		if within = within && (line[0] == ' ' || line[0] == '\t'); within {
			to = end
		}
		switch {
		case open.n > 0:
			if open.closedBy(f) {
				open = fence{}
			}
			continue
		case f.n > 0:
			open = f
			continue
		}
		m := optionLine.FindStringSubmatch(strings.TrimRightFunc(line, unicode.IsSpace))
		if m == nil {
			continue
		}
		label, text := m[2], m[5]
		if m[1] != "" && m[3] == "" && m[4] == "" {
			text = m[1] + text // label and text are both bold
		}
		if label == "1" || label == "a" || label == "A" {
			list, first, begin = nil, label, start
		} else if len(list) == 0 || label != labelAt(first, len(list)) {
			continue
		}
		if len(list) < MaxOptions {
			list = append(list, Option{Key: keyAt(first, len(list)), Answer: label + ". " + short(text, maxOption)})
		}
		if len(list) >= 2 {
			last, from, to, within = list, begin, end, true
		}
	}
	return last, from, to
}

// Chosen returns the answer that a reaction selects.
func Chosen(options []Option, key string) (answer string, ok bool) {
	for _, o := range options {
		if plainKey(o.Key) == plainKey(key) {
			return o.Answer, true
		}
	}
	return "", false
}

// plainKey removes the variation selector from a reaction: some clients leave it out,
// others add it.
func plainKey(key string) string { return strings.ReplaceAll(key, "\uFE0F", "") }

// labelAt returns the label of option i (from 0) in a list that begins with first: the next letter or number.
func labelAt(first string, i int) string {
	if first != "1" {
		return string(rune(first[0]) + rune(i))
	}
	if i == 9 {
		return "10"
	}
	return string(rune('1' + i))
}

func keyAt(first string, i int) string {
	switch {
	case first != "1":
		return string(rune(0x1F1E6 + i)) // regional indicators
	case i == 9:
		return "🔟"
	}
	return labelAt(first, i) + "\uFE0F\u20E3"
}

// short cuts a text to n bytes of valid UTF-8.
func short(s string, n int) string {
	return clean.Cut(strings.ToValidUTF8(clean.Clip(s, n+utf8.UTFMax), "\uFFFD"), n)
}
