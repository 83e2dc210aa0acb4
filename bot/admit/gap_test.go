package admit

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"matrix-tui/state"
)

// flood is a room's timeline on a homeserver, of events as large as they may be. Every fiftieth is from somebody who may use
// the bot.
type flood struct {
	t     *testing.T
	asked func(page int) // before a page is sent
}

const (
	floodPages, floodPage = 12, 100 // pages, and events of each
	floodEvent            = 64 << 10
)

func (f flood) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil || !strings.HasSuffix(r.URL.Path, "/messages") || r.URL.Query().Get("limit") != strconv.Itoa(floodPage) {
		f.t.Errorf("request for %s", r.URL)
	}
	f.asked(page)
	babble, wisdom := strings.Repeat("babble ", (floodEvent-300)/7), strings.Repeat("wisdom ", (floodEvent-300)/7)
	_, _ = io.WriteString(w, `{"chunk":[`)
	for i := range floodPage {
		between, sender, said := ",", "@eve:here", babble
		if i%50 == 0 {
			sender, said = "@ann:here", wisdom
		}
		if i == 0 {
			between = ""
		}
		n := (floodPages-page)*floodPage - i
		_, _ = fmt.Fprintf(w, `%s{"event_id":"$%d","type":"m.room.message","sender":"%s","origin_server_ts":%d,"content":{"msgtype":"m.text","body":"%s"}}`, between, n, sender, n, said)
	}
	end := ""
	if page+1 < floodPages {
		end = fmt.Sprintf(`,"end":"%d"`, page+1)
	}
	_, _ = io.WriteString(w, "]"+end+"}")
}

// A gap of 77 MB takes the memory of a page: each page is stored before the next one is requested. What strangers say is
// not stored.
func TestFloodInGap(t *testing.T) {
	a := newAdmission(t, "defaults: {reply: owner_only}")
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most, pages := live(), int64(0), 0
	server := httptest.NewServer(flood{t, func(page int) {
		pages++
		if g, err := a.Journal.Gaps.Get(t.Context(), den); err != nil || g.Pages != page || g.Next != g.Low+int64(state.MaxGap-1-page*floodPage) {
			t.Errorf("page %d is requested, and %+v is stored, %v", page, g, err)
		}
		most = max(most, live()-before)
	}})
	defer server.Close()
	a.use(t, server.URL)
	if _, err := a.Journal.Events.CommitBatch(t.Context(), state.Batch{Gaps: []state.Gap{{Room: den, Token: "0", Encrypted: state.EncryptedNever}}}); err != nil {
		t.Fatal(err)
	}
	a.fill(t.Context(), den)
	if pages != floodPages {
		t.Errorf("%d pages were requested", pages)
	}
	if most > 2*floodPage*floodEvent {
		t.Errorf("%d MB are held between two pages of %d MB", most>>20, floodPage*floodEvent>>20)
	}
	newest, err := a.Journal.Events.Get(t.Context(), den, fmt.Sprintf("$%d", floodPages*floodPage))
	if err != nil || newest.Body.Message == nil || !strings.HasPrefix(newest.Body.Message.Body, "wisdom ") {
		t.Errorf("what an owner says is stored as %.200v, %v", newest.Body, err)
	}
	files, err := filepath.Glob(filepath.Join(a.dir, "journal.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("babble")) {
			t.Errorf("%s contains what a stranger said", filepath.Base(file))
		}
	}
}

// A room is told, once, if so much was missed there that the bot does not read it all.
func TestLongGap(t *testing.T) {
	pages := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		pages++
		_, _ = fmt.Fprintf(w, `{"chunk":[{"event_id":"$%d","type":"m.room.message","sender":"@eve:here","origin_server_ts":%d,"content":{}}],"end":"t%d"}`,
			pages, 1_700_000_000_000-60_000*pages, pages)
	}))
	defer server.Close()
	a := newAdmission(t, "")
	a.use(t, server.URL)
	if _, err := a.Journal.Events.CommitBatch(t.Context(), state.Batch{Next: "s1", Gaps: []state.Gap{{Room: den, Token: "t0", Encrypted: state.EncryptedNever}}}); err != nil {
		t.Fatal(err)
	}
	g, err := a.Journal.Gaps.Get(t.Context(), den)
	if err != nil {
		t.Fatal(err)
	}
	a.fill(t.Context(), den)
	if pages != 200 || strings.Count(a.log.String(), "it is too large") != 1 {
		t.Errorf("%d pages, %s", pages, a.log.String())
	}
	for range 2 {
		unsent, err := a.Journal.Messages.Unsent(t.Context(), den)
		if err != nil || len(unsent) != 1 || !strings.Contains(unsent[0].Body, "nothing before 14 November 2023, 18:53 UTC. If you sent me something earlier, send it again.") {
			t.Errorf("the room is told %+v, %v", unsent, err)
		}
		g.Pages = pages
		if err := a.fillPage(t.Context(), g, false); err != nil { // by a process that does not know that the gap is closed
			t.Fatal(err)
		}
	}
}
