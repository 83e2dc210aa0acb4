package gateway

import "encoding/json"

// bill is what a request to the model costs, as far as its answer has told.
type bill struct {
	asks bool // it uses the model: it is no list of models
	free bool // it only counts tokens
	size int  // of the request, in bytes
	numbers
	tail
}

// estimate is the cost in tokens of a request without an answer.
func (b *bill) estimate() int64 {
	if b.free {
		return 0
	}
	return int64(min(b.size/4, maxEstimate))
}

// write takes a piece of the answer.
func (b *bill) write(p []byte) {
	b.numbers.write(p)
	b.tail.write(p)
}

const (
	// maxEstimate is the largest context of a model, in tokens: files in a request are larger than what they cost.
	maxEstimate = 1 << 20

	usageKey   = "usageMetadata"
	maxNumbers = 8 << 10 // bytes of its value
)

// numbers finds the usageMetadata of an answer: of a single one, or the last of a stream. It counts only as a field of the
// outermost object: the model chooses what the arguments of a function call contain. Nothing else is kept.
type numbers struct {
	used Usage

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
	n.used = Usage{
		InputTokens: tokens(u.Prompt) + tokens(u.Tools), CachedTokens: min(tokens(u.Cached), tokens(u.Prompt)),
		OutputTokens: tokens(u.Candidates) + tokens(u.Thoughts),
	}
}

// count records an answer. One that was cut before its first numbers is estimated: it is billed all the same.
func (d *door) count(cost *bill, code int) {
	if !cost.asks {
		return
	}
	used := cost.used
	used.Requests = 1
	if used.InputTokens > 0 {
		d.meter.last.Store(used.InputTokens)
	}
	if reason := cost.finish(); reason != "" {
		d.meter.finish.Store(reason)
	}
	if used.InputTokens+used.OutputTokens == 0 && code < 300 {
		used.InputTokens = cost.estimate()
	}
	d.meter.add(used)
	if d.enter(false) { // the container need not wait for it
		go func() {
			defer d.leave(false)
			d.g.spend(d.room, used)
		}()
	} else {
		d.g.spend(d.room, used)
	}
}

// tokens limits a number to what one answer can have.
func tokens(n int64) int64 { return min(max(n, 0), 1<<32) }
