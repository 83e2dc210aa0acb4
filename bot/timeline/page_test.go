package timeline

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// A page ends at the first known event, or at our own join.
func TestCut(t *testing.T) {
	say := func(id string) event.Event {
		return decoded(t, fmt.Sprintf(`{"event_id":%q,"type":"m.room.message","sender":"@ann:here","origin_server_ts":%d,"content":{}}`, id, 1000*int(id[1]-'0')))
	}
	join := decoded(t, `{"event_id":"$join","type":"m.room.member","sender":"@bot:here","state_key":"@bot:here","origin_server_ts":9000,"content":{"membership":"join"},"unsigned":{"prev_content":{"membership":"invite"}}}`)
	on := decoded(t, `{"event_id":"$on","type":"m.room.encryption","sender":"@ann:here","state_key":"","origin_server_ts":9000,"content":{"algorithm":"m.megolm.v1.aes-sha2"}}`)
	for _, c := range []struct {
		name  string
		gap   state.Gap
		chunk []event.Event
		known []string
		want  []string // ID, + fresh, ! must be encrypted
		last  bool
		short bool
	}{
		{"more to come", state.Gap{Encrypted: state.EncryptedNever}, []event.Event{say("$3"), say("$2")}, nil, []string{"$3+", "$2+"}, false, false},
		{"up to a known event", state.Gap{Encrypted: state.EncryptedAll}, []event.Event{say("$3"), say("$2"), say("$1")}, []string{"$2"}, []string{"$3+!"}, true, false},
		{"up to our join", state.Gap{Encrypted: state.EncryptedNever}, []event.Event{say("$3"), join, say("$1")}, nil, []string{"$3+", "$join+"}, true, false},
		{"encryption was enabled", state.Gap{Encrypted: state.EncryptedLater}, []event.Event{say("$3"), on, say("$1")}, nil, []string{"$3+!", "$on+!", "$1+"}, false, false},
		{"context only", state.Gap{Encrypted: state.EncryptedNever, Since: time.UnixMilli(2500)}, []event.Event{say("$3"), say("$2")}, nil, []string{"$3+", "$2"}, false, false},
		{"full", state.Gap{Encrypted: state.EncryptedNever, Low: 9}, []event.Event{say("$3"), say("$2"), say("$1")}, nil, []string{"$3+", "$2+"}, true, true},
		{"full at the end of the page before", state.Gap{Encrypted: state.EncryptedNever, Low: 11}, []event.Event{say("$3")}, nil, nil, true, true},
		{"full at a known event", state.Gap{Encrypted: state.EncryptedNever, Low: 9}, []event.Event{say("$3"), say("$2"), say("$1")}, []string{"$1"}, []string{"$3+", "$2+"}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			known := map[string]bool{}
			for _, id := range c.known {
				known[id] = true
			}
			c.gap.Next = 10
			p := Page{Gap: c.gap}
			p.cut(c.chunk, known, self)
			var got []string
			for _, e := range p.Events {
				line := e.ID
				if e.Fresh {
					line += "+"
				}
				if e.MustEncrypt {
					line += "!"
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || p.Last != c.last || p.Short != c.short {
				t.Errorf("last: %v, short: %v %s", p.Last, p.Short, diff)
			}
		})
	}
}

// Only an answer with a Matrix error code ends a gap.
func TestJudge(t *testing.T) {
	var status int
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	account, err := matrix.New(matrix.Config{Homeserver: server.URL, User: self, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	r := New(nil, account)
	restarted := time.UnixMilli(1)
	for _, c := range []struct {
		status int
		body   string
		since  time.Time
		want   Verdict
	}{
		{500, `{"errcode":"M_UNKNOWN"}`, time.Time{}, Retry},
		{404, "<html>not found</html>", time.Time{}, Retry},
		{400, "", time.Time{}, Retry},
		{401, `{"errcode":"M_UNKNOWN_TOKEN","soft_logout":true}`, time.Time{}, Retry},
		{429, `{"errcode":"M_LIMIT_EXCEEDED"}`, time.Time{}, Retry},
		{404, `{"errcode":"M_UNRECOGNIZED"}`, time.Time{}, Retry},
		{403, `{"errcode":"M_FORBIDDEN"}`, time.Time{}, Retry}, // the rooms cannot be listed either
		{200, `{"chunk":[`, time.Time{}, Retry},
		{404, `{"errcode":"M_NOT_FOUND"}`, time.Time{}, Close},
		{400, `{"errcode":"M_INVALID_PARAM"}`, time.Time{}, StartOver},
		{400, `{"errcode":"M_UNKNOWN_POS"}`, time.Time{}, StartOver},
		{400, `{"errcode":"M_INVALID_PARAM"}`, restarted, Close},
		{502, "", restarted, Retry},
	} {
		status, body = c.status, c.body
		g := state.Gap{Room: "!den:here", Token: "t", Since: c.since}
		_, err := r.Page(t.Context(), g, false)
		if err == nil {
			t.Fatalf("%d %s is no error", status, body)
		}
		if got := r.Judge(t.Context(), g, err); got != c.want {
			t.Errorf("%d %s: %d, want %d", status, body, got, c.want)
		}
	}
}

// Rooms that the homeserver does not answer for do not hold up others.
func TestHungRooms(t *testing.T) {
	var hung atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "hung") {
			hung.Add(1)
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `{"chunk":[{"event_id":"$1"}],"end":"next"}`)
	}))
	defer server.Close()
	account, err := matrix.New(matrix.Config{Homeserver: server.URL, User: self, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	r := New(nil, account)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	for range 2 * parallel {
		waiting.Go(func() {
			if _, _, err := r.messages(ctx, state.Gap{Room: "!hung:here"}, true); err == nil {
				t.Error("a hung room was answered")
			}
		})
	}
	for hung.Load() < parallelAgain {
		time.Sleep(time.Millisecond)
	}
	if _, end, err := r.messages(t.Context(), state.Gap{Room: "!den:here"}, false); err != nil || end != "next" {
		t.Errorf("%q, %v", end, err)
	}
	if n := hung.Load(); n != parallelAgain {
		t.Errorf("%d requests at once for rooms that failed before, want %d", n, parallelAgain)
	}
}

// A page without events need not be the last one: a homeserver leaves out what the account must not see.
// The limit ends a gap, too, and the page says so if something that the bot may act on is missing.
func TestEmptyPage(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, map[string]string{
			"first":  `{"chunk":[],"end":"second"}`,
			"second": `{"chunk":[{"event_id":"$1","type":"m.room.message","sender":"@ann:here","origin_server_ts":1,"content":{}}],"end":"third"}`,
			"third":  `{"chunk":[]}`,
			"stuck":  `{"chunk":[],"end":"stuck"}`,
		}[r.URL.Query().Get("from")])
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
	r := New(journal, account)
	for _, c := range []struct {
		gap    state.Gap
		events int
		last   bool
		short  bool // the limit ends it
		before int64
	}{
		{state.Gap{Token: "first"}, 0, false, false, 0},
		{state.Gap{Token: "second"}, 1, false, false, 0},
		{state.Gap{Token: "second", Pages: maxPages - 2}, 1, false, false, 0},
		{state.Gap{Token: "second", Pages: maxPages - 1}, 1, true, true, 1},
		{state.Gap{Token: "second", Low: 1}, 0, true, true, 1}, // the page before was full
		{state.Gap{Token: "second", Low: 1, Since: time.UnixMilli(2)}, 0, true, false, 0},
		{state.Gap{Token: "second", Pages: maxPages - 1, Since: time.UnixMilli(2)}, 1, true, false, 0},
		{state.Gap{Token: "third", Pages: maxPages - 1}, 0, true, false, 0},
		{state.Gap{Token: "stuck"}, 0, true, false, 0},
	} {
		c.gap.Room = "!den:here"
		p, err := r.Page(t.Context(), c.gap, false)
		if err != nil || len(p.Events) != c.events || p.Last != c.last || p.Short != c.short {
			t.Errorf("%+v: %d events, last: %v, short: %v, %v", c.gap, len(p.Events), p.Last, p.Short, err)
		}
		if c.short && p.Before.UnixMilli() != c.before {
			t.Errorf("%+v: nothing before %s is read", c.gap, p.Before)
		}
	}
}
