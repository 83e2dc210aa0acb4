package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// insert is something to add to the answer of a /sync, as raw JSON: events of a room's timeline, or the invite_state of
// an invitation.
type insert struct {
	room, events string
	invite       bool
}

// Event adds events, separated by commas, to the timeline of a room that the bot is in. A waiting /sync is answered at
// once. The sync token stays the same: the homeserver's own news come with the next one.
func (p *Proxy) Event(room, events string) { p.insert(insert{room: room, events: events}) }

// Invite adds an invitation with this invite_state: events, separated by commas.
func (p *Proxy) Invite(room, events string) {
	p.insert(insert{room: room, events: events, invite: true})
}

func (p *Proxy) insert(i insert) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, i)
	if p.wake != nil {
		p.wake()
	}
}

// takesInserts recognises a /sync that continues from another one.
func takesInserts(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/sync") && r.URL.Query().Get("since") != ""
}

// insertInto answers a /sync with what is pending, and reports whether it did; otherwise wake is called when something
// comes.
func (p *Proxy) insertInto(w http.ResponseWriter, r *http.Request, wake context.CancelFunc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake = wake
	if len(p.pending) == 0 {
		return false
	}
	i := p.pending[0]
	p.pending = p.pending[1:]
	token, room := quote(r.URL.Query().Get("since")), quote(i.room)
	told := fmt.Sprintf(`"join":{%s:{"timeline":{"events":[%s],"limited":false,"prev_batch":%s}}}`, room, i.events, token)
	if i.invite {
		told = fmt.Sprintf(`"invite":{%s:{"invite_state":{"events":[%s]}}}`, room, i.events)
	}
	answer(w, http.StatusOK, fmt.Sprintf(`{"next_batch":%s,"rooms":{%s}}`, token, told))
	return true
}

// bot is the key under which a /sync that may be cut short has the context of
// the bot's own request.
type bot struct{}

// failed answers a request that could not be forwarded.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errLost) {
		panic(http.ErrAbortHandler)
	}
	if ctx, ok := r.Context().Value(bot{}).(context.Context); ok && ctx.Err() == nil && p.insertInto(w, r, func() {}) {
		return
	}
	w.WriteHeader(http.StatusBadGateway)
}

func quote(text string) string {
	data, _ := json.Marshal(text) // cannot fail for a string
	return string(data)
}
