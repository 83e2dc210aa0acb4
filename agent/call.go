package agent

import (
	"time"

	"matrix-tui/state/clean"
)

// maxCalls bounds Outcome.Calls: the newest are kept.
const maxCalls = 50

// Call is one call of a tool that has ended.
type Call struct {
	Tool   string
	Detail string        // its most telling argument, one line: a command, a path
	Output string        // the beginning of its result or of its error, one line
	Failed bool          `json:",omitempty"`
	Took   time.Duration `json:",omitempty"` // by the CLI's clock; 0 if that is unknown
}

// callLog collects a run's calls.
type callLog struct {
	open map[string]openCall // by ID: those without a result yet
	done []Call
}

type openCall struct {
	Call
	began  time.Time
	lookup bool   // into the memory: not kept, or the memory would be full of itself
	fault  string // its command's exit code or signal, if it failed
}

// begin notes a call. Of those that never end, only a few are kept.
func (c *callLog) begin(id string, call openCall) {
	if c.open == nil {
		c.open = map[string]openCall{}
	}
	if len(c.open) < maxNames {
		c.open[id] = call
	}
}

// fail notes that a command of an open call has failed.
func (c *callLog) fail(detail, fault string) {
	for id, call := range c.open {
		if call.Detail == detail && call.fault == "" {
			call.fault = fault
			c.open[id] = call
			return
		}
	}
}

// end notes the result of a call, and returns the name of its tool, or "" if the call is unknown.
func (c *callLog) end(id, output string, failed bool, at time.Time) (tool string) {
	call, known := c.open[id]
	if !known {
		return ""
	}
	delete(c.open, id)
	call.Output, call.Failed = clean.Line(output, 200), failed
	if took := at.Sub(call.began); !at.IsZero() && !call.began.IsZero() && took > 0 && took < 24*time.Hour {
		call.Took = took
	}
	if call.lookup {
		return call.Tool
	}
	if len(c.done) == maxCalls {
		c.done = append(c.done[:0], c.done[1:]...)
	}
	c.done = append(c.done, call.Call)
	return call.Tool
}
