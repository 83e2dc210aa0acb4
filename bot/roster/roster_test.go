package roster

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				switch {
				case strings.HasSuffix(req.URL.Path, "/account/whoami"):
					logins++
					_, _ = w.Write([]byte(`{"user_id":"@bot:here"}`))
				case !strings.HasSuffix(req.URL.Path, "/account_data/m.direct"):
					t.Errorf("request for %s", req.URL)
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
			account, err := matrix.New(matrix.Config{Homeserver: server.URL, User: "@bot:here", AccessToken: "token", StateDir: t.TempDir(), Log: zerolog.Nop()})
			if err != nil {
				t.Fatal(err)
			}
			defer account.Close()
			r := &Roster{Account: account, Log: zerolog.Nop()}
			if err := r.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := r.Direct.User("!d"); got != c.want || len(c.answers) > 0 || (logins == 1) != (c.name == "refused") {
				t.Errorf("a direct chat with %q, want %q; %d answers left, %d logins", got, c.want, len(c.answers), logins)
			}
		})
	}
}

func TestMemberCounts(t *testing.T) {
	var r Roster
	if !r.MayBeAlone("!den") {
		t.Error("a room with an unknown number of members counts as more than two")
	}
	r.Joined.Learn("!den", r.Joined.Version("!den"), 3)
	if r.MayBeAlone("!den") {
		t.Error("three members count as two")
	}
	said := event.Event{ID: "$1", Type: event.TypeMessage}
	left := event.Event{ID: "$2", Type: event.TypeMember}
	r.Note(&matrix.Sync{Joined: map[string]matrix.Room{"!den": {Timeline: []event.Event{said}}}})
	if r.MayBeAlone("!den") {
		t.Error("a message changed the number of members")
	}
	asked := r.Joined.Version("!den")
	r.Note(&matrix.Sync{Joined: map[string]matrix.Room{"!den": {Timeline: []event.Event{said, left}}}})
	if !r.MayBeAlone("!den") {
		t.Error("the number is still known after somebody left")
	}
	r.Joined.Learn("!den", asked, 3)
	if !r.MayBeAlone("!den") {
		t.Error("a number from before the change was stored")
	}
	asked = r.Joined.Version("!attic")
	r.Joined.Forget("!den")
	r.Joined.Learn("!attic", asked, 3)
	if r.MayBeAlone("!attic") {
		t.Error("a change in another room has made the bot ask again")
	}
}

func TestDirects(t *testing.T) {
	var d Directs
	d.Take(map[string][]string{"@ann:x": {"!a", "!b"}})
	if d.User("!a") != "@ann:x" || d.User("!c") != "" {
		t.Errorf("%q, %q", d.User("!a"), d.User("!c"))
	}
	if _, changed := d.With("@ann:x", "!a"); changed {
		t.Error("what is there is added")
	}
	users, changed := d.With("@bob:x", "!c")
	if diff := cmp.Diff(map[string][]string{"@ann:x": {"!a", "!b"}, "@bob:x": {"!c"}}, users); diff != "" || !changed {
		t.Error(diff)
	}
	if d.User("!c") != "" {
		t.Error("a copy changes the original")
	}
}
