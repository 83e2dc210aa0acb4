package agent

import (
	"bytes"
	"regexp"
	"strings"

	"matrix-tui/state/clean"
)

// The markers of a signal.
const (
	needInput = "<<<NEED_INPUT>>>"
	inContext = "<<<CONTEXT>>>"
	endInput  = "<<<END_INPUT>>>"
)

// MaxQuestion bounds a question and its context, in bytes each.
const MaxQuestion = 64 << 10

// MaxDraft bounds the text of an EventText, in bytes.
const MaxDraft = 2 << 10

// Instruction tells the agent how to ask a person. It is part of every prompt.
const Instruction = "When you lack a fact, a decision or a permission that only a person can give, do not guess and " +
	"do not choose for them. " +
	"Stop there: call no further tool, and end your answer with a question of exactly this form, each marker alone on " +
	"its line, outside of any code block:\n\n" +
	needInput + "\nthe question; when there are choices, one a line, as 1. 2. 3.\n" +
	inContext + "\nin a sentence or two, what you were doing and why you cannot go on\n" +
	endInput + "\n\n" +
	"The answer comes with the next message; go on from there. Never write these markers for anything else.\n"

// SignalKind says whether a text contains a question.
type SignalKind string

const (
	// NoSignal: no question.
	NoSignal SignalKind = ""
	// Asked: a complete question.
	Asked SignalKind = "asked"
	// CutOff: the text ends inside a question.
	CutOff SignalKind = "cut_off"
)

// Signal is the question in an assistant's text.
type Signal struct {
	Kind              SignalKind
	Question, Context string // with Asked; Context may be ""
	// With Asked, Before is the text before the signal in its message, and After everything after it; like the other two,
	// they contain no marker. Otherwise Before is the last message, unchanged.
	Before, After string
}

var (
	// firstMark begins a signal: it starts a line, indented by at most three spaces.
	firstMark = regexp.MustCompile(`(?m)^ {0,3}` + needInput)
	// markLine is a line, and markThere a place within one, that has markers only.
	markLine  = regexp.MustCompile(`(?m)^[ \t*+-]*(?:` + anyMark + `[ \t\r]*)+(?:\n|\z)`)
	markThere = regexp.MustCompile(`[ \t]*(?:` + anyMark + `[ \t]*)+`)
	// openFence and closeFence are around a signal that is alone in a code block.
	openFence  = regexp.MustCompile("(?:^|\n)[ \t]*(?:[*+-][ \t]+)?(?:`{3,}|~{3,})[^\n`]*\\s*$")
	closeFence = regexp.MustCompile("^\\s*(?:`{3,}|~{3,})[ \t]*(?:\r?\n|$)")
)

// findMark returns where a signal begins in a text, or nil.
func findMark(text string) []int {
	if !strings.Contains(text, needInput) {
		return nil // an expression takes long in a long text
	}
	return firstMark.FindStringIndex(text)
}

const anyMark = `(?:` + needInput + `|` + inContext + `|` + endInput + `)`

// signalOf finds the first question in a message. Its first marker must start a line; the others count wherever they
// follow. In a block quote, and in a code block that contains anything but one signal, a marker is ordinary text: the
// agent may show a file that has some. So is a signal without a question. One that starts again before its end counts
// from the new start.
func signalOf(message string) Signal {
	message = strings.ToValidUTF8(message, "\uFFFD")
	hidden := hide(message)
	for from := 0; ; {
		at := findMark(hidden[from:])
		if at == nil {
			return Signal{Kind: cutAtEnd(hidden), Before: message}
		}
		start := from + at[0]
		body, after, whole := strings.Cut(hidden[from+at[1]:], endInput)
		if !whole {
			return Signal{Kind: CutOff, Before: message}
		}
		if again := findMark(body); again != nil {
			from += at[1] + again[0]
			continue
		}
		question, context, _ := strings.Cut(body, inContext)
		if question = unmarked(question, MaxQuestion); question == "" {
			from = len(hidden) - len(after)
			continue
		}
		before := hidden[:start]
		if openFence.MatchString(before) && closeFence.MatchString(after) {
			before, after = openFence.ReplaceAllString(before, ""), closeFence.ReplaceAllString(after, "")
		}
		return Signal{Kind: Asked, Question: question, Context: unmarked(context, MaxQuestion),
			Before: unmarked(before, MaxText), After: unmarked(after, MaxText)}
	}
}

// cutAtEnd returns CutOff for a message whose last line is the beginning of a signal's first marker.
func cutAtEnd(message string) SignalKind {
	last := strings.TrimLeft(message[strings.LastIndexByte(message, '\n')+1:], " ")
	if len(last) >= leastPart && strings.HasPrefix(needInput, last) {
		return CutOff
	}
	return NoSignal
}

// draftOf returns the end of a message so far, without a signal: at most MaxDraft bytes, for people who wait for the
// rest.
func draftOf(message string) string {
	message = message[max(0, len(message)-4*MaxDraft):]
	if at := findMark(message); at != nil {
		message = openFence.ReplaceAllString(message[:at[0]], "")
	}
	message = message[max(0, len(message)-MaxDraft):]
	return strings.TrimSpace(Unmark(strings.ToValidUTF8(message, "")))
}

// unmarked returns a hidden text for people, of at most limit bytes.
func unmarked(hidden string, limit int) string {
	return strings.TrimSpace(unmark(strings.TrimSpace(clean.Clip(hidden, limit))))
}

// covered takes the place of "<" where a marker is ordinary text.
const covered = "\x00"

// hide returns a text of the same length with such places covered.
func hide(text string) string {
	if !strings.Contains(text, "<<<") {
		return text
	}
	out := []byte(text)
	cover := func(from, to int) {
		copy(out[from:to], bytes.ReplaceAll(out[from:to], []byte("<"), []byte(covered)))
	}
	var open fence
	begin, at := 0, 0
	for line := range strings.Lines(text) {
		f := fenceOf([]byte(line))
		switch content := strings.TrimSpace(text[begin:at]); {
		case open.n == 0 && f.n > 0:
			open, begin = f, at+len(line)
		case open.n == 0:
			if quote := strings.TrimLeft(line, " "); len(line)-len(quote) <= 3 && strings.HasPrefix(quote, ">") {
				cover(at, at+len(line))
			}
		case open.closedBy(f):
			open = fence{}
			if !strings.HasPrefix(content, needInput) || !strings.HasSuffix(content, endInput) ||
				strings.Count(content, needInput) > 1 {
				cover(begin, at)
			}
		}
		at += len(line)
	}
	content := strings.TrimSpace(text[begin:])
	if open.n > 0 && !strings.HasPrefix(content, needInput) && !strings.HasPrefix(needInput, content) {
		cover(begin, len(text))
	}
	return string(out)
}

// leastPart is how much of a marker the end of a text has to contain to be taken for one that was cut.
const leastPart = len("<<<NEED")

// Unmark removes the markers of signals from a text for people, with lines that contain nothing else, and a marker that
// the end of the text cuts. Words on both sides of a marker stay apart, so that they do not form another one. Markers
// stay in code blocks and block quotes, where the text is about them.
func Unmark(text string) string { return unmark(hide(text)) }

// unmark is Unmark for a hidden text.
func unmark(text string) string {
	if strings.Contains(text, "<<<") {
		text = markThere.ReplaceAllString(markLine.ReplaceAllString(text, ""), " ")
	}
	for {
		end := strings.TrimRight(text, " \t\r\n")
		i := max(0, strings.LastIndex(end, "<<<"))
		last := end[i:]
		if len(last) < leastPart || !strings.HasPrefix(needInput, last) && !strings.HasPrefix(inContext, last) &&
			!strings.HasPrefix(endInput, last) {
			return strings.ReplaceAll(text, covered, "<")
		}
		text = end[:i]
	}
}
