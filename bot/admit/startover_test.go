package admit

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
)

// Synapse answers an initial sync from a cache if it has answered the same within two minutes. Rooms joined since then
// are missing there, and the bot has not left them.
func TestInitialSyncFromCache(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/_matrix/client/v3/joined_rooms" {
			t.Errorf("request for %s", r.URL)
		}
		_, _ = w.Write([]byte(`{"joined_rooms":["!stays:here"]}`))
	}))
	defer server.Close()
	a := newAdmission(t, "")
	a.use(t, server.URL)
	for _, room := range []string{"!stays:here", "!gone:here"} {
		if err := a.Store.Containers.Set(t.Context(), room, "sandbox-"+room); err != nil {
			t.Fatal(err)
		}
	}
	batch := &matrix.Sync{Next: "s1"}
	alerts := filepath.Join(a.dir, "alerts.json")
	next := state.Batch{Next: batch.Next}
	if err := a.replaceAll(t.Context(), batch, &next); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(alerts); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the owners are told before the batch is stored: %v", err)
	}
	if _, err := a.commit(t.Context(), next, true); err != nil {
		t.Fatal(err)
	}
	told, err := os.ReadFile(alerts)
	if err != nil || !strings.Contains(string(told), "lost my position") {
		t.Errorf("the owners are told %s, %v", told, err)
	}
	if !slices.Contains(batch.Left, "!gone:here") || slices.Contains(batch.Left, "!stays:here") {
		t.Errorf("left: %v", batch.Left)
	}
}
