package bot

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
)

// A homeserver that does not let the bot read the new room, or does not know it yet, says nothing about where that room
// comes from: the bot neither leaves nor gives the upgrade up. An event that names two rooms names none.
func TestUnreadableSuccessor(t *testing.T) {
	left := 0
	answers := []string{"M_FORBIDDEN", "M_NOT_FOUND", ""}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/joined_rooms"):
			_, _ = io.WriteString(w, `{"joined_rooms":[]}`)
		case strings.Contains(r.URL.Path, "/join"):
			_, _ = io.WriteString(w, `{"room_id":"!house:here"}`)
		case strings.HasSuffix(r.URL.Path, "/leave"):
			left++
			_, _ = io.WriteString(w, `{}`)
		case !strings.Contains(r.URL.Path, "/state/m.room.create"):
			t.Errorf("request for %s", r.URL)
		case strings.Contains(r.URL.Path, "!shed:here"):
			_, _ = io.WriteString(w, `{"predecessor":{"room_id":"!den:here","room_id":"!other:here"}}`)
		case answers[0] == "":
			_, _ = io.WriteString(w, `{"predecessor":{"room_id":"!den:here","event_id":"$1"}}`)
		default:
			w.WriteHeader(map[string]int{"M_FORBIDDEN": 403, "M_NOT_FOUND": 404}[answers[0]])
			_, _ = io.WriteString(w, `{"errcode":"`+answers[0]+`","error":"no"}`)
			answers = answers[1:]
		}
	}))
	defer server.Close()
	d := newDeciding(t, everything)
	var err error
	if d.bot.account, err = matrix.New(matrix.Config{Homeserver: server.URL, User: "@bot:here", StateDir: t.TempDir(), Log: zerolog.Nop()}); err != nil {
		t.Fatal(err)
	}
	defer d.bot.account.Close()
	for range 2 {
		if err := d.enter(t.Context(), "!house:here", &d.moved); err == nil || errors.Is(err, errNoSuccessor) || errors.Is(err, errUninvited) {
			t.Errorf("it has entered: %v", err)
		}
	}
	if left > 0 {
		t.Error("it has left a room that it could not read")
	}
	for range 2 { // what a room names does not change
		if err := d.enter(t.Context(), "!shed:here", &d.moved); !errors.Is(err, errNoSuccessor) || left != 1 {
			t.Errorf("a malformed event: left %d times, %v", left, err)
		}
	}
	if err := d.enter(t.Context(), "!house:here", &d.moved); err != nil {
		t.Error(err)
	}
}
