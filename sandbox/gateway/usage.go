package gateway

import (
	"bytes"
	"encoding/json"
	"sync/atomic"
)

// meter counts a room's use of the model.
type meter struct{ requests, input, output atomic.Int64 }

func (m *meter) request() { m.requests.Add(1) }

func (m *meter) add(input, output int64) {
	m.input.Add(input)
	m.output.Add(output)
}

func (m *meter) sum() Usage {
	return Usage{Requests: m.requests.Load(), InputTokens: m.input.Load(), OutputTokens: m.output.Load()}
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

// usage returns the tokens of the answer; zeros if it has no numbers.
func (t *tail) usage() (input, output int64) {
	// In a text of the model the quotes are escaped, so only the real key looks like this.
	i := bytes.LastIndex(t.buf, []byte(`"usageMetadata"`))
	if i < 0 {
		return 0, 0
	}
	rest := t.buf[i+len(`"usageMetadata"`):]
	colon := bytes.IndexByte(rest, ':')
	if colon < 0 {
		return 0, 0
	}
	var u struct {
		Prompt     int64 `json:"promptTokenCount"`
		Tools      int64 `json:"toolUsePromptTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
	}
	if json.NewDecoder(bytes.NewReader(rest[colon+1:])).Decode(&u) != nil {
		return 0, 0
	}
	return tokens(u.Prompt) + tokens(u.Tools), tokens(u.Candidates) + tokens(u.Thoughts)
}

// tokens limits a number to what one answer can have.
func tokens(n int64) int64 { return min(max(n, 0), 1<<32) }
