package gateway

import (
	"bytes"
	"encoding/json"
	"sync/atomic"
)

// meter counts a room's use of the model. Last is the input of the newest answer with numbers.
type meter struct{ requests, input, cached, output, last atomic.Int64 }

func (m *meter) request() { m.requests.Add(1) }

func (m *meter) add(u Usage) {
	m.input.Add(u.InputTokens)
	m.cached.Add(u.CachedTokens)
	m.output.Add(u.OutputTokens)
}

func (m *meter) sum() Usage {
	return Usage{m.requests.Load(), m.input.Load(), m.cached.Load(), m.output.Load()}
}

// tail is the end of an answer. The last usageMetadata object has the numbers, in a
// stream as in a single answer, so nothing more is kept or parsed.
type tail struct{ buf []byte }

const maxTail = 64 << 10 // bytes

func (t *tail) write(p []byte) {
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*maxTail {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-maxTail:]...)
	}
}

// usage returns the tokens of the answer, to one request; zeros if it has no numbers.
func (t *tail) usage() Usage {
	none := Usage{Requests: 1}
	// In a text of the model the quotes are escaped, so only the real key looks like this.
	i := bytes.LastIndex(t.buf, []byte(`"usageMetadata"`))
	if i < 0 {
		return none
	}
	rest := t.buf[i+len(`"usageMetadata"`):]
	colon := bytes.IndexByte(rest, ':')
	if colon < 0 {
		return none
	}
	var u struct {
		Prompt     int64 `json:"promptTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"` // a part of Prompt
		Tools      int64 `json:"toolUsePromptTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
	}
	if json.NewDecoder(bytes.NewReader(rest[colon+1:])).Decode(&u) != nil {
		return none
	}
	return Usage{
		Requests: 1, InputTokens: tokens(u.Prompt) + tokens(u.Tools), CachedTokens: min(tokens(u.Cached), tokens(u.Prompt)),
		OutputTokens: tokens(u.Candidates) + tokens(u.Thoughts),
	}
}

// tokens limits a number to what one answer can have.
func tokens(n int64) int64 { return min(max(n, 0), 1<<32) }
