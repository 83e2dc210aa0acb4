package matrix

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// A creator of a room of version 12 may send whatever the power levels say, also on a homeserver that returns only the
// content of state.
func TestCreatorMaySend(t *testing.T) {
	create, whole := "", true
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/joined_rooms"):
			fmt.Fprint(w, `{"joined_rooms":["!den"]}`)
		case strings.Contains(r.URL.Path, "/state/m.room.power_levels"):
			fmt.Fprint(w, `{"events_default":50,"users":{"@ann:x":100}}`)
		case strings.Contains(r.URL.Path, "/state/m.room.create") && whole && r.FormValue("format") == "event":
			fmt.Fprintf(w, `{"event_id":"$1","type":"m.room.create","state_key":"","sender":"@bot:x","content":%s}`, create)
		case strings.Contains(r.URL.Path, "/state/m.room.create"):
			fmt.Fprint(w, create)
		default:
			t.Errorf("unexpected request %s", r.URL)
		}
	}))
	defer home.Close()
	a, err := New(Config{Homeserver: home.URL, User: "@bot:x", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		create     string
		whole, may bool
	}{
		{`{"room_version":"11"}`, true, false},
		{`{"room_version":"12"}`, true, true},
		{`{"room_version":"12"}`, false, false},
		{`{"room_version":"12","additional_creators":["@bot:x"]}`, false, true},
	} {
		create, whole = c.create, c.whole
		if may, err := a.Rooms.MaySend(t.Context(), "!den", "m.room.message"); may != c.may || err != nil {
			t.Errorf("%s, whole %v: %v, %v", c.create, c.whole, may, err)
		}
	}
}
