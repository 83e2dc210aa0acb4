package gateway

import (
	"net/http"
	"sync/atomic"

	"matrix-tui/agent/gemini"
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

// count records an answer. One that was cut before its first numbers is estimated: it is billed all the same.
func (d *door) count(cost *gemini.Bill, code int) {
	if !cost.Asks {
		return
	}
	spent := cost.Tokens()
	used := Usage{1, spent.Input, spent.Cached, spent.Output}
	if used.InputTokens > 0 {
		d.meter.last.Store(used.InputTokens)
	}
	if reason := cost.Finish(); reason != "" {
		d.meter.finish.Store(reason)
	}
	if used.InputTokens+used.OutputTokens == 0 && code < http.StatusMultipleChoices {
		used.InputTokens = cost.Estimate()
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
