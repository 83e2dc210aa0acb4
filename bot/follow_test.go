package bot

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/upgrade"
	"matrix-tui/state"
)

// house is a homeserver with the old room !den:here and the new room !house:here.
type house struct {
	mu     sync.Mutex
	before string          // the predecessor that the new room names
	joined map[string]bool // rooms that the bot is in
	closed int             // how many joins of the new room are refused from now on
	alone  bool            // the bot is the only member of the old room
}

const theHouse = "!house:here"

// upgrading connects the bot to such a homeserver, where it is in the old room.
func (d *deciding) upgrading(before string) *house {
	d.t.Helper()
	h := &house{before: before, joined: map[string]bool{d.id: true}}
	server := httptest.NewServer(h)
	d.t.Cleanup(server.Close)
	account, err := matrix.New(matrix.Config{Homeserver: server.URL, User: "@bot:here", StateDir: d.t.TempDir(), Log: zerolog.Nop()})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(account.Close)
	d.bot.use(account)
	return h
}

func (h *house) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := "!den:here"
	if strings.Contains(r.URL.Path, theHouse) {
		room = theHouse
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/joined_rooms"):
		var in []string
		for name := range h.joined {
			in = append(in, fmt.Sprintf("%q", name))
		}
		_, _ = fmt.Fprintf(w, `{"joined_rooms":[%s]}`, strings.Join(in, ","))
		return
	case strings.HasSuffix(r.URL.Path, "/join") || strings.Contains(r.URL.Path, "/join/"):
		if h.closed > 0 {
			h.closed--
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"errcode":"M_FORBIDDEN","error":"not invited"}`)
			return
		}
		h.joined[room] = true
	case strings.HasSuffix(r.URL.Path, "/leave"):
		delete(h.joined, room)
	case strings.HasSuffix(r.URL.Path, "/joined_members"):
		members := `{"joined":{"@bot:here":{},"@ann:here":{}}}`
		if h.alone {
			members = `{"joined":{"@bot:here":{}}}`
		}
		_, _ = io.WriteString(w, members)
		return
	case strings.Contains(r.URL.Path, "/state/m.room.power_levels"):
		_, _ = io.WriteString(w, `{"events_default":50}`)
		return
	case strings.Contains(r.URL.Path, "/state/m.room.create"):
		if !h.joined[room] {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"errcode":"M_FORBIDDEN","error":"not in the room"}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"predecessor":{"room_id":%q,"event_id":"$1"}}`, h.before)
		return
	}
	_, _ = fmt.Fprintf(w, `{"room_id":%q}`, room)
}

// open lets the bot into the new room from now on.
func (h *house) open() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = 0
}

func (h *house) in(room string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.joined[room]
}

// replaced commits a tombstone of the room as a sync does, and decides it.
func (d *deciding) replaced(id, successor string) {
	d.t.Helper()
	d.store(id, successor)
	d.decides()
}

// store stores a tombstone.
func (d *deciding) store(id, successor string) {
	d.t.Helper()
	d.at = d.at.Add(time.Minute)
	row := state.Event{Status: state.Pending, Event: decoded(d.t, fmt.Sprintf(
		`{"event_id":%q,"type":"m.room.tombstone","state_key":"","sender":"@ann:here","origin_server_ts":%d,"content":{"replacement_room":%q}}`, id, d.at.UnixMilli(), successor))}
	row.Room = d.id
	if err := d.bot.upgrades.Note(d.t.Context(), row); err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.bot.Journal.Events.Commit(d.t.Context(), "", []state.Event{row}); err != nil {
		d.t.Fatal(err)
	}
}

// works lets the tasks worker of a room do what is up next, if that is no task, and reports whether a task is.
func (d *deciding) works(r *room) (task bool) {
	d.t.Helper()
	for {
		do, err := r.nextTask(d.t.Context())
		if err != nil {
			d.t.Fatal(err)
		}
		if do == nil {
			return false
		}
		if t := r.turn.Current(); t != nil {
			r.turn.Leave(t)
			return true
		}
		if err := do(); err != nil {
			d.t.Fatal(err)
		}
	}
}

// in returns another room of the same bot.
func (d *deciding) in(room string) *deciding { return &deciding{d.bot.room(room), d.t, d.at} }

// pending returns the IDs of the room's pending events.
func (d *deciding) pending() (ids string) {
	d.t.Helper()
	rows, err := d.bot.Journal.Events.Pending(d.t.Context(), d.id, 0, 9)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, row := range rows {
		ids += row.ID
	}
	return ids
}

// Nothing moves to a room that the bot is not in, because only its members see which room it replaces. The old room goes
// on, and the bot moves as soon as it gets in. Refusals for a moment prove nothing.
func TestSuccessorRefusedOnce(t *testing.T) {
	d := newDeciding(t, everything)
	h := d.upgrading(d.id)
	h.closed = 2
	if err := d.bot.Store.Conversations.Append(t.Context(), d.id, state.Turn{Event: "$0", Role: "user", Content: "before"}); err != nil {
		t.Fatal(err)
	}
	d.replaced("$1", theHouse)
	d.text("$2", "@ann:here", "go on", time.Minute)
	d.decides()
	if !d.works(d.room) {
		t.Error("the old room does not go on")
	}
	if d.bot.Store.Conversations.Any(theHouse) || d.pending() != "$1" {
		t.Error("something has moved to a room that the bot cannot see")
	}
	d.bot.work.Wait() // until it is in the new room
	d.works(d.room)
	if history, err := d.bot.Store.Conversations.History(t.Context(), theHouse); err != nil || len(history) != 1 || d.pending() != "" || d.bot.upgrades.Moves(d.id) {
		t.Error("the bot is in the new room, and nothing has moved")
	}
	if !d.works(d.bot.room(theHouse)) {
		t.Error("the task has not moved")
	}
}

// If the policy of the room cannot move, the room goes on, and a newer tombstone replaces the one that waits. That the room
// moves once its policy can is shown by the script policy-moves.
func TestPolicyStays(t *testing.T) {
	d := newDeciding(t, "defaults: {allow: ['@*:here'], reply: all}\nrooms:\n  '!den:here': &free {approvals: []}\n  '!other:here': *free\n")
	d.upgrading(d.id)
	d.replaced("$1", theHouse)
	d.text("$2", "@ann:here", "go on", time.Minute)
	d.decides()
	if !d.works(d.room) || d.bot.Store.SuccessorOf(d.id) != d.id {
		t.Error("the room does not go on")
	}
	if d.replaced("$3", "!other:here"); d.pending() != "$3" {
		t.Errorf("%s are pending", d.pending())
	}
}

// Upgrades that have not been followed are known again after a restart.
func TestResumeUpgrades(t *testing.T) {
	d := newDeciding(t, everything)
	d.replaced("$1", theHouse)
	d.in("!shed:here").replaced("$2", "!shed:here") // makes no sense
	resumed := &upgrade.Shared{Journal: d.bot.Journal}
	if err := resumed.Resume(t.Context()); err != nil || !resumed.Moves(d.id) || resumed.Moves("!shed:here") {
		t.Error(err)
	}
}
