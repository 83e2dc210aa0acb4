package bot

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/state/event"
)

// Neither a session that has ended nor a refusal leaves the list of direct chats empty; that there is none does.
func TestLoadDirects(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []int
		last    string
		want    string // the user of the room !d
	}{
		{"refused", []int{http.StatusUnauthorized, http.StatusForbidden}, `{"@ann:here":["!d"]}`, "@ann:here"},
		{"none", []int{http.StatusNotFound}, "", ""},
		{"nonsense", nil, `{"@ann:here":["!d"],"@ann:here":[]}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			logins := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/account/whoami"):
					logins++
					_, _ = w.Write([]byte(`{"user_id":"@bot:here"}`))
				case !strings.HasSuffix(r.URL.Path, "/account_data/m.direct"):
					t.Errorf("request for %s", r.URL)
				case len(c.answers) == 0:
					_, _ = w.Write([]byte(c.last))
				default:
					code := map[int]string{http.StatusUnauthorized: "M_UNKNOWN_TOKEN", http.StatusForbidden: "M_FORBIDDEN", http.StatusNotFound: "M_NOT_FOUND"}[c.answers[0]]
					w.WriteHeader(c.answers[0])
					c.answers = c.answers[1:]
					_, _ = w.Write([]byte(`{"errcode":"` + code + `","error":"no"}`))
				}
			}))
			defer server.Close()
			b := newDeciding(t, "").bot
			var err error
			if b.account, err = matrix.New(matrix.Config{Homeserver: server.URL, User: "@bot:here", AccessToken: "token", StateDir: t.TempDir(), Log: zerolog.Nop()}); err != nil {
				t.Fatal(err)
			}
			defer b.account.Close()
			if err := b.loadDirects(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := b.direct.User("!d"); got != c.want || len(c.answers) > 0 || (logins == 1) != (c.name == "refused") {
				t.Errorf("a direct chat with %q, want %q; %d answers left, %d logins", got, c.want, len(c.answers), logins)
			}
		})
	}
}

func TestMemberCounts(t *testing.T) {
	b := &Bot{}
	if !b.mayBeAlone("!den") {
		t.Error("a room with an unknown number of members counts as more than two")
	}
	b.members.Learn("!den", b.members.Version(), 3)
	if b.mayBeAlone("!den") {
		t.Error("three members count as two")
	}
	said := decoded(t, `{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{}}`)
	left := decoded(t, `{"event_id":"$2","type":"m.room.member","sender":"@bob:here","state_key":"@bob:here","content":{"membership":"leave"}}`)
	b.noteMembers(&matrix.Sync{Joined: map[string]matrix.Room{"!den": {Timeline: []event.Event{said}}}})
	if b.mayBeAlone("!den") {
		t.Error("a message changed the number of members")
	}
	asked := b.members.Version()
	b.noteMembers(&matrix.Sync{Joined: map[string]matrix.Room{"!den": {Timeline: []event.Event{said, left}}}})
	if !b.mayBeAlone("!den") {
		t.Error("the number is still known after somebody left")
	}
	b.members.Learn("!den", asked, 3)
	if !b.mayBeAlone("!den") {
		t.Error("a number from before the change was stored")
	}
}
