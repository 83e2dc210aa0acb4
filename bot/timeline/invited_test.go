package timeline

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// What the inviter writes between the invitation and the join is read, also if it is more than the timeline has; and the
// room is told if it is too much, or cannot be read.
func TestSinceInvite(t *testing.T) {
	const invite = `{"event_id":"$invite","type":"m.room.member","sender":"@ann:here","state_key":"@bot:here","origin_server_ts":1,"content":{"membership":"invite"}}`
	say := func(id, sender string) string {
		return fmt.Sprintf(`{"event_id":%q,"type":"m.room.message","sender":%q,"origin_server_ts":2,"content":{}}`, id, sender)
	}
	broken := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := r.URL.Query().Get("from")
		if from == "p2" && broken {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		chunk, end := []string{}, "p2"
		switch from {
		case "p1":
			chunk = append(chunk, say("$3", "@ann:here"), say("$eve", "@eve:here"))
		case "p2":
			chunk, end = append(chunk, say("$2", "@ann:here"), invite, say("$old", "@ann:here")), "p3"
		case "far": // without an end
			chunk, end = append(chunk, say("$4", "@ann:here")), "far2"
		case "far2":
			end = "far"
		}
		_, _ = io.WriteString(w, `{"chunk":[`+strings.Join(chunk, ",")+`],"end":"`+end+`"}`)
	}))
	defer server.Close()
	account, err := matrix.New(matrix.Config{Homeserver: server.URL, User: self, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	journal, err := state.OpenJournal(t.Context(), filepath.Join(t.TempDir(), "journal.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	join := decoded(t, `{"event_id":"$join","type":"m.room.member","sender":"@bot:here","state_key":"@bot:here","origin_server_ts":9,"content":{"membership":"join"},"unsigned":{"prev_content":{"membership":"invite"}}}`)
	for _, c := range []struct {
		name, token string
		broken      bool
		state       []event.Event
		want        []string
		short       bool
	}{
		{"more than the timeline", "p1", false, nil, []string{"$2", "$3", "$5", "$join"}, false},
		{"no end", "far", false, []event.Event{decoded(t, invite)}, []string{"$4", "$4", "$4", "$5", "$join"}, true},
		{"not to be had", "p2", true, []event.Event{decoded(t, invite)}, []string{"$5", "$join"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			broken = c.broken
			batch := &matrix.Sync{Since: "s", Joined: map[string]matrix.Room{"!den:here": {Limited: true, PrevBatch: c.token, State: c.state,
				Timeline: []event.Event{decoded(t, say("$5", "@ann:here")), join}}}}
			got, err := New(journal, account).Read(t.Context(), batch, "!den:here", "s", false, false)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, e := range got.Events {
				ids = append(ids, e.ID)
			}
			if !slices.Equal(ids, c.want) || len(got.Short) > 0 != c.short || len(got.Gaps) > 0 {
				t.Errorf("read %v, short %v, gaps %v", ids, got.Short, got.Gaps)
			}
		})
	}
}
