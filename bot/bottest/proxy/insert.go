package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// insert is what the bot is to be told of a room by /sync, as raw JSON: events
// of its timeline, or of the invite_state of an invitation.
type insert struct {
	room, events string
	invite       bool
}

// Event has the bot told of events, separated by commas, in the timeline of a
// room it is in. A /sync that waits is answered at once. The sync token stays as
// it is: what the homeserver has to say comes with the next one.
func (p *Proxy) Event(room, events string) { p.insert(insert{room: room, events: events}) }

// Invite has the bot told of an invitation with this invite_state: events,
// separated by commas.
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

// takesInserts tells a /sync that goes on from another one.
func takesInserts(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/sync") && r.URL.Query().Get("since") != ""
}

// insertInto answers a /sync with what is pending, and tells whether it did;
// otherwise wake is called when something comes.
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

// failed answers what could not be passed on.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, _ error) {
	if ctx, ok := r.Context().Value(bot{}).(context.Context); ok && ctx.Err() == nil && p.insertInto(w, r, func() {}) {
		return
	}
	w.WriteHeader(http.StatusBadGateway)
}

func quote(text string) string {
	data, _ := json.Marshal(text) // a string cannot fail
	return string(data)
}
