package membership

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/outbox"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/roster"
	"matrix-tui/bot/upgrade"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

const everything = "defaults:\n  allow: ['@*:here']\n"

// newRoom returns the room !den:here, and a homeserver that answers a request with what is next for it, as "STATUS CODE",
// and then with success. A request is named by its method and the end of its path.
func newRoom(t *testing.T, rules string, answers map[string][]string) *Room {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, next := range answers {
			if method, end, _ := strings.Cut(name, " "); r.Method != method || !strings.HasSuffix(r.URL.Path, end) || len(next) == 0 {
				continue
			}
			var status int
			var code string
			_, _ = fmt.Sscan(next[0], &status, &code)
			answers[name] = next[1:]
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"errcode":%q,"error":"no"}`, code)
			return
		}
		_, _ = io.WriteString(w, `{"room_id":"!den:here","joined_rooms":["!den:here"]}`)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	account, err := matrix.New(matrix.Config{Homeserver: server.URL, User: "@bot:here", StateDir: dir, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(account.Close)
	if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	journal, store, err := state.Open(t.Context(), dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = journal.Close() })
	access := roster.Access{Policy: policy.Open(dir, zerolog.Nop()), Owners: []string{"@ann:here"}}
	shared := &outbox.Shared{Journal: journal, Account: account, Synced: &queue.Gate{}, Group: &queue.Group{Context: t.Context()}}
	return &Room{
		Shared:  &Shared{Roster: &roster.Roster{Access: access, Account: account, Log: zerolog.Nop()}},
		Out:     shared.Room("!den:here", nil),
		Upgrade: &upgrade.Room{Shared: &upgrade.Shared{Store: store}, ID: "!den:here"},
	}
}

// invited stores an invitation.
func (r *Room) invited(t *testing.T, sender string, direct bool) state.Event {
	t.Helper()
	row := state.Event{Status: state.Pending, Kind: event.KindInvite, Event: event.Event{
		Room: r.Out.ID, ID: "$invite", Sender: sender, Type: event.TypeInvite, Time: time.Now(),
		Body: event.Body{Member: &event.Member{Membership: "invite", IsDirect: direct}},
	}}
	if _, err := r.Out.Journal.Events.Commit(t.Context(), "", []state.Event{row}); err != nil {
		t.Fatal(err)
	}
	return row
}

// A join is tried again while that makes sense: after a refusal for half a minute, without an answer for a day.
func TestMayJoinLater(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  string
		invited time.Duration // ago
		before  string        // the invitation that was refused before
		refused time.Duration // ago
		want    bool
	}{
		{"first refusal", "403 M_FORBIDDEN", 0, "", 0, true},
		{"first refusal of an old invitation", "403 M_FORBIDDEN", 48 * time.Hour, "", 0, true},
		{"refused for a while", "403 M_FORBIDDEN", 0, "$this", 20 * time.Second, true},
		{"refused for good", "403 M_FORBIDDEN", 0, "$this", 40 * time.Second, false},
		{"another one was refused", "403 M_FORBIDDEN", 0, "$other", time.Hour, true},
		{"makes no sense", "400 M_INVALID_PARAM", 0, "", 0, false},
		{"no answer", "502 ", 23 * time.Hour, "", 0, true},
		{"no answer after a refusal", "502 ", time.Hour, "$this", time.Hour, true},
		{"no answer for a day", "502 ", 25 * time.Hour, "", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoom(t, everything, map[string][]string{"POST /join": {c.answer}})
			r.refused = matrix.Refusals{"join " + c.before: time.Now().Add(-c.refused)}
			invite := state.Event{Event: event.Event{ID: "$this", Time: time.Now().Add(-c.invited)}}
			if got := r.mayJoinLater(r.Roster.Account.Rooms.Join(t.Context(), r.Out.ID), invite); got != c.want {
				t.Errorf("mayJoinLater() = %t, want %t", got, c.want)
			}
		})
	}
}

// refusedBefore lets what was refused count as refused for long.
func (r *Room) refusedBefore() {
	for what, first := range r.refused {
		r.refused[what] = first.Add(-matrix.RefusedTime)
	}
}

// An invitation that can neither be accepted nor declined ends, as one that was withdrawn before the bot came to it.
func TestRefusedInvitation(t *testing.T) {
	no := slices.Repeat([]string{"403 M_FORBIDDEN"}, 9)
	r := newRoom(t, everything, map[string][]string{"POST /join": no, "POST /leave": no})
	row := r.invited(t, "@ann:here", false)
	tries := 1
	for ; r.Do(t.Context(), row) != nil && tries < 9; tries++ {
		r.refusedBefore()
	}
	if left, err := r.Out.Journal.Events.Pending(t.Context(), r.Out.ID, 0, 9); err != nil || len(left) > 0 || tries != 3 {
		t.Errorf("%d tries, want 3; %d are left, %v", tries, len(left), err)
	}
}

// A homeserver that refuses once to store the list of direct chats, or to decline an invitation, is asked again. If it goes
// on with that, the room is a direct chat to this process.
func TestRefusedOnce(t *testing.T) {
	const no = "403 M_FORBIDDEN"
	for _, c := range []struct {
		name, policy string
		refused      string // the request
		answers      []string
		pause        bool // the refusals go on for longer than they count for nothing
		tries        int
		direct       string
	}{
		{"once", everything, "PUT /account_data/m.direct", []string{no}, false, 2, "@ann:here"},
		{"without a code", everything, "PUT /account_data/m.direct", []string{"404 "}, false, 2, "@ann:here"},
		{"for long", everything, "PUT /account_data/m.direct", []string{no, no}, true, 2, "@ann:here"},
		{"too large", everything, "PUT /account_data/m.direct", []string{"413 M_TOO_LARGE"}, false, 1, "@ann:here"},
		{"declining", "defaults: {allow: []}", "POST /leave", []string{no}, false, 2, ""},
		{"declining for long", "defaults: {allow: []}", "POST /leave", []string{no, no, no}, true, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoom(t, c.policy, map[string][]string{c.refused: c.answers})
			sender := "@ann:here"
			if c.direct == "" {
				sender = "@eve:there"
			}
			row := r.invited(t, sender, c.direct != "")
			tries := 1
			for ; r.Do(t.Context(), row) != nil && tries < 9; tries++ {
				if c.pause {
					r.refusedBefore()
				}
			}
			if left, err := r.Out.Journal.Events.Pending(t.Context(), r.Out.ID, 0, 9); err != nil || len(left) > 0 {
				t.Errorf("the invitation is not finished: %v", err)
			}
			if got := r.Roster.Direct.User(r.Out.ID); tries != c.tries || got != c.direct {
				t.Errorf("%d tries, want %d; a direct chat with %q, want %q", tries, c.tries, got, c.direct)
			}
		})
	}
}
