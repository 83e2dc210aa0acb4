package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"

	"github.com/tidwall/gjson"
)

// Bill is what a request costs, as far as its answer has told.
type Bill struct {
	Call
	Size int // of the request, in bytes
	numbers
	tail
}

// Tokens are those of one answer.
type Tokens struct {
	Input, Cached, Output int64 // Cached is a part of Input; thoughts are output
}

// Tokens returns the numbers of the answer so far; zero if there are none.
func (b *Bill) Tokens() Tokens { return b.used }

// Estimate is the cost in tokens of a request without an answer.
func (b *Bill) Estimate() int64 {
	if b.Free {
		return 0
	}
	return int64(min(b.Size/4, maxEstimate))
}

// Take takes a piece of the answer.
func (b *Bill) Take(p []byte) {
	b.numbers.write(p)
	b.tail.write(p)
}

const (
	// maxEstimate is the largest context of a model, in tokens: files in a request are larger than what they cost.
	maxEstimate = 1 << 20

	usageKey   = "usageMetadata"
	maxNumbers = 8 << 10 // bytes of its value
)

// numbers finds the usageMetadata of an answer: of a single one, or the last of a stream. It counts only as a field
// of the outermost object: the model chooses what the arguments of a function call contain. Nothing else is kept.
type numbers struct {
	used Tokens

	depth, top      int // open brackets; how many are open in the outermost object: 2 in a list of answers
	quoted, escaped bool
	word            []byte // the last string in the outermost object
	named, inside   bool   // usageMetadata was read; its value is being read
	value           []byte
}

func (n *numbers) write(p []byte) {
	for _, c := range p {
		if n.inside && len(n.value) < maxNumbers {
			n.value = append(n.value, c)
		}
		if n.quoted {
			n.text(c)
			continue
		}
		switch c {
		case '"':
			n.quoted, n.word = true, n.word[:0]
		case ':':
			n.named = n.depth > 0 && n.depth == n.top && string(n.word) == usageKey
		case '{', '[':
			n.open(c)
		case '}', ']':
			n.depth = max(n.depth-1, 0)
			if n.inside && n.depth <= n.top {
				n.inside = false
				n.read()
			}
		}
	}
}

// open is an opening bracket.
func (n *numbers) open(c byte) {
	switch n.depth++; {
	case n.depth == 1 && c == '[':
		n.top = 2
	case n.depth == 1:
		n.top = 1
	case n.depth == n.top+1 && n.named:
		n.inside, n.named, n.value = true, false, append(n.value[:0], c)
	}
}

// text is a byte of a string.
func (n *numbers) text(c byte) {
	switch {
	case n.escaped:
		n.escaped = false
	case c == '\\':
		n.escaped = true
	case c == '"':
		n.quoted = false
		return
	}
	if n.depth == n.top && len(n.word) <= len(usageKey) {
		n.word = append(n.word, c)
	}
}

// read takes the numbers of one answer in place of earlier ones.
func (n *numbers) read() {
	var u struct {
		Prompt     int64 `json:"promptTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"` // a part of Prompt
		Tools      int64 `json:"toolUsePromptTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
	}
	if json.Unmarshal(n.value, &u) != nil {
		return
	}
	n.used = Tokens{
		Input: tokens(u.Prompt) + tokens(u.Tools), Cached: min(tokens(u.Cached), tokens(u.Prompt)),
		Output: tokens(u.Candidates) + tokens(u.Thoughts),
	}
}

// tokens limits a number to what one answer can have.
func tokens(n int64) int64 { return min(max(n, 0), 1<<32) }

// tail is the end of an answer: the last event of a stream has its finishReason. Nothing more is kept.
type tail struct{ buf []byte }

const maxTail = 64 << 10 // bytes

func (t *tail) write(p []byte) {
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*maxTail {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-maxTail:]...)
	}
}

var reasonName = regexp.MustCompile(`^[A-Z_]{1,40}$`)

// Finish returns why a stream ended: its finishReason or, if the prompt was blocked, the blockReason. It is "" if the
// stream was cut, or is none: Gemini CLI asks for single answers only for purposes of its own.
func (t *tail) Finish() string {
	start := bytes.LastIndex(t.buf, []byte("\ndata:")) + 1 // in JSON, line breaks within strings are escaped
	event, ok := bytes.CutPrefix(t.buf[start:], []byte("data:"))
	if !ok {
		return ""
	}
	found := gjson.GetManyBytes(event, "candidates.0.finishReason", "promptFeedback.blockReason")
	if reason := cmp.Or(found[0].Str, found[1].Str); reasonName.MatchString(reason) {
		return reason
	}
	return ""
}
