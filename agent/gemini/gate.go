package gemini

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// sitsOut is the longest delay that the agent sits out by itself: it waits five seconds between its attempts anyway.
	sitsOut = 5 * time.Second
	// attempts is how many refusals in a row close a model if its server names no time. The agent makes as many attempts.
	attempts = 3
	// shortPause and longPause bound the pause if the server names no time. It doubles each time.
	shortPause, longPause = 15 * time.Second, 15 * time.Minute
	// slack is added to the server's delay, which is in whole seconds.
	slack = time.Second

	maxRefusal = 256 << 10 // bytes of an answer that are read to learn why it is a refusal
)

// Closure says until when nothing is sent to a model, and why: its server accepts no requests.
type Closure struct {
	Kind   Kind // Quota or Overload
	PerDay bool // the quota is one per day
	Named  bool // the model's server has named the time; otherwise it is only worth a try then
	Until  time.Time
}

// Error is for the agent, which recognises it by its beginning.
func (c *Closure) Error() string {
	return "the model takes no requests until " + c.Until.UTC().Format(time.RFC3339)
}

// gates remember which models take no requests. A gate exists from the first refusal to the next success, for models
// that a room may use, so there are few.
type gates struct {
	now    func() time.Time
	mu     sync.Mutex
	models map[string]*gate
}

type gate struct {
	refused  int // requests in a row
	closures int // the last of which is Closure; 0 = it is open
	Closure
}

// after returns the gate after another refusal.
func (g gate) after(r *Refusal, now time.Time) gate {
	if now.Before(g.Until) {
		return g // the request was sent before the gate was closed
	}
	g.refused++
	g.Kind = r.Kind
	if r.Retry <= sitsOut && !r.PerDay && g.refused < attempts && g.closures == 0 {
		return g
	}
	wait := min(shortPause<<min(g.closures, 10), longPause)
	if named := r.Retry + slack; r.Retry > 0 && (g.closures == 0 || named > wait) {
		wait, g.Named = named, true
	} else {
		g.Named = false
	}
	g.PerDay, g.Until = r.PerDay, now.Add(wait)
	g.closures++
	return g
}

// busy reports whether a refusal is about the present load or quota, and may be over soon.
func busy(r *Refusal) bool {
	return r.Kind == Quota && !r.None || r.Kind == Overload && r.Status >= http.StatusServiceUnavailable
}

// closed returns until when nothing may be sent to a model, if that is so.
func (g *gates) closed(model string) (c Closure, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := g.models[model]; at != nil && g.now().Before(at.Until) {
		return at.Closure, true
	}
	return Closure{}, false
}

// note notes the status of a model's answer, and what is refused. It returns the closure if that closes the model.
func (g *gates) note(model string, status int, r *Refusal) (c Closure, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch at := g.models[model]; {
	case r != nil && busy(r):
		if at == nil {
			at = new(gate)
			g.models[model] = at
		}
		*at = at.after(r, g.now())
		return at.Closure, g.now().Before(at.Until)
	case status < http.StatusInternalServerError:
		delete(g.models, model)
	}
	return Closure{}, false
}

// verdict notes the model's answer in its gate. It returns the closure if the answer closes it: the agent learns that,
// and not the answer, so that it makes no more attempts.
func (d *room) verdict(model string, resp *http.Response) (c Closure, closed bool) {
	var refusal *Refusal
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError {
		said, rest := new(bytes.Buffer), resp.Body
		_, err := io.CopyN(said, rest, maxRefusal)
		if err == nil || errors.Is(err, io.EOF) {
			refusal = Parse(resp.StatusCode, resp.Header, said.Bytes())
		}
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(said, rest), rest}
	}
	if model == "" {
		return c, false
	}
	return d.gates.note(model, resp.StatusCode, refusal)
}

// Closed returns until when nothing is sent to a model, if that is so.
func (r *Route) Closed(model string) (c Closure, closed bool) { return r.gates.closed(Bare(model)) }

// Limited is the number of consecutive requests to one model, over all rooms, that its server has refused because of a
// quota, and how long nothing is sent because of it.
func (r *Route) Limited() (n int, wait time.Duration) {
	r.gates.mu.Lock()
	defer r.gates.mu.Unlock()
	for _, at := range r.gates.models {
		if at.Kind == Quota {
			n, wait = max(n, at.refused), max(wait, at.Until.Sub(r.gates.now()))
		}
	}
	return n, wait
}
