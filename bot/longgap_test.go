package bot

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/timeline"
	"matrix-tui/state"
)

// A room is told, once, if so much was missed there that the bot does not read it all.
func TestLongGap(t *testing.T) {
	pages := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		pages++
		_, _ = fmt.Fprintf(w, `{"chunk":[{"event_id":"$%d","type":"m.room.message","sender":"@eve:here","origin_server_ts":%d,"content":{}}],"end":"t%d"}`,
			pages, 1_700_000_000_000-60_000*pages, pages)
	}))
	defer server.Close()
	d := newDeciding(t, everything)
	var log strings.Builder
	d.bot.log = zerolog.New(&log)
	account, err := matrix.New(matrix.Config{Homeserver: server.URL, User: "@bot:here", StateDir: t.TempDir(), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer account.Close()
	d.bot.account, d.bot.timeline = account, timeline.New(d.bot.Parts.Journal, account)
	if _, err := d.bot.Journal.CommitBatch(t.Context(), state.Batch{Next: "s1", Gaps: []state.Gap{{Room: d.id, Token: "t0", Encrypted: state.EncryptedNever}}}); err != nil {
		t.Fatal(err)
	}
	g, err := d.bot.Journal.Gap(t.Context(), d.id)
	if err != nil {
		t.Fatal(err)
	}
	d.fillGaps()
	if pages != 200 || strings.Count(log.String(), "it is too large") != 1 {
		t.Errorf("%d pages, %s", pages, log.String())
	}
	for range 2 {
		unsent, err := d.bot.Journal.Unsent(t.Context(), d.id)
		if err != nil || len(unsent) != 1 || !strings.Contains(string(unsent[0].Content), "nothing before 14 November 2023, 18:53 UTC. If you sent me something earlier, send it again.") {
			t.Errorf("the room is told %+v, %v", unsent, err)
		}
		g.Pages = pages
		if err := d.fillPage(t.Context(), g, false); err != nil { // by a process that does not know that the gap is closed
			t.Fatal(err)
		}
	}
}
