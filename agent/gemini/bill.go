package gemini

import (
	"bytes"
	"cmp"
	"iter"
	"regexp"

	"github.com/tidwall/gjson"
)

// Bill is what a request costs, as far as its answer has told. Of the answer it keeps the end.
type Bill struct {
	Call
	Size int // of the request, in bytes

	end []byte // of the answer
	cut bool   // something came before it
}

// Tokens are those of one answer.
type Tokens struct {
	Input, Cached, Output int64 // Cached is a part of Input; thoughts are output
}

const (
	// maxEstimate is the largest context of a model, in tokens: files in a request are larger than what they cost.
	maxEstimate = 1 << 20
	// maxEnd is how much of an answer is kept at least, in bytes: the last event of a stream fits.
	maxEnd = 256 << 10
)

// Estimate is the cost in tokens of a request without an answer.
func (b *Bill) Estimate() int64 {
	if b.Free {
		return 0
	}
	return int64(min(b.Size/4, maxEstimate))
}

// Take takes a piece of the answer.
func (b *Bill) Take(p []byte) {
	b.end = append(b.end, p...)
	if over := len(b.end) - maxEnd; over > maxEnd {
		b.end, b.cut = append(b.end[:0], b.end[over:]...), true
	}
}

// Tokens returns the numbers of the answer so far, or of the last one of a stream; zero if there are none. They count
// only as a field of the outermost object: the model chooses what the arguments of a function call contain.
func (b *Bill) Tokens() (used Tokens) {
	answer := bytes.TrimSpace(b.end)
	if !b.cut && !bytes.HasPrefix(answer, dataPrefix) {
		for _, one := range append(gjson.ParseBytes(answer).Array(), gjson.Result{}) { // a single one, or a list
			used = cmp.Or(tokensOf(one), used)
		}
		return used
	}
	for event := range events(b.end) {
		if used := tokensOf(gjson.ParseBytes(event)); used != (Tokens{}) {
			return used
		}
	}
	return used
}

// tokensOf returns the numbers of one answer.
func tokensOf(answer gjson.Result) Tokens {
	usage := answer.Get("usageMetadata")
	if !gjson.Valid(usage.Raw) { // the answer was cut
		return Tokens{}
	}
	count := func(name string) int64 { return min(max(usage.Get(name).Int(), 0), 1<<32) }
	prompt := count("promptTokenCount")
	return Tokens{
		Input: prompt + count("toolUsePromptTokenCount"), Cached: min(count("cachedContentTokenCount"), prompt),
		Output: count("candidatesTokenCount") + count("thoughtsTokenCount"),
	}
}

var dataPrefix = []byte("data:")

// events returns the events of a stream, the newest first. In JSON, line breaks within strings are escaped.
func events(stream []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for end := len(stream); end > 0; {
			start := bytes.LastIndexByte(stream[:end], '\n')
			event, is := bytes.CutPrefix(stream[start+1:end], dataPrefix)
			if is && !yield(event) {
				return
			}
			end = start
		}
	}
}

var reasonName = regexp.MustCompile(`^[A-Z_]{1,40}$`)

// Finish returns why a stream ended: its finishReason or, if the prompt was blocked, the blockReason. It is "" if the
// stream was cut, or is none: Gemini CLI asks for single answers only for purposes of its own.
func (b *Bill) Finish() string {
	for event := range events(b.end) {
		found := gjson.GetManyBytes(event, "candidates.0.finishReason", "promptFeedback.blockReason")
		if reason := cmp.Or(found[0].Str, found[1].Str); reasonName.MatchString(reason) {
			return reason
		}
		return ""
	}
	return ""
}
