package gateway

import (
	"bytes"
	"cmp"
	"regexp"
	"sync/atomic"

	"github.com/tidwall/gjson"
)

// meter counts a room's use of the model. Last is the input of the newest answer with numbers, finish is why the newest
// stream ended.
type meter struct {
	requests, input, cached, output, last atomic.Int64
	finish                                atomic.Value // string
}

func (m *meter) request() { m.requests.Add(1) }

func (m *meter) add(u Usage) {
	m.input.Add(u.InputTokens)
	m.cached.Add(u.CachedTokens)
	m.output.Add(u.OutputTokens)
}

func (m *meter) sum() Usage {
	return Usage{m.requests.Load(), m.input.Load(), m.cached.Load(), m.output.Load()}
}

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

// finish returns why a stream ended: its finishReason or, if the prompt was blocked, the blockReason. It is "" if the
// stream was cut, or is none: Gemini CLI asks for single answers only for purposes of its own.
func (t *tail) finish() string {
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
