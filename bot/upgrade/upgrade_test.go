package upgrade

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/bot/alert"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/roster"
	"matrix-tui/bot/turn"
	"matrix-tui/state"
	"matrix-tui/state/event"
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
	account, err := matrix.New(matrix.Config{Homeserver: server.URL, User: "@bot:here", StateDir: t.TempDir(), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer account.Close()
	journal, err := state.OpenJournal(t.Context(), filepath.Join(t.TempDir(), "journal.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = journal.Close() }()
	s := &Shared{Journal: journal, Account: account, Roster: &roster.Roster{Account: account}, Policy: policy.Open(t.TempDir(), zerolog.Nop())}
	r := &Room{Shared: s, ID: "!den:here"}
	for range 2 {
		if err := r.enter(t.Context(), "!house:here", &r.refused); err == nil || errors.Is(err, errNoSuccessor) || errors.Is(err, errUninvited) {
			t.Errorf("it has entered: %v", err)
		}
	}
	if left > 0 {
		t.Error("it has left a room that it could not read")
	}
	if err := r.enter(t.Context(), "!shed:here", &r.refused); !errors.Is(err, errNoSuccessor) || left != 1 {
		t.Errorf("a malformed event: left %d times, %v", left, err)
	}
	if err := r.enter(t.Context(), "!house:here", &r.refused); err != nil {
		t.Error(err)
	}
}

// The owners read once that a room cannot be followed, also when its successor has the bot try again in between.
func TestStayingToldOnce(t *testing.T) {
	dir := t.TempDir()
	s := &Shared{Alerts: alert.New(alert.Config{StateDir: dir, Log: zerolog.Nop()})}
	r := &Room{Shared: s, ID: "!den:here", Turn: &turn.Turn{}}
	tombstone := state.Event{Event: event.Event{ID: "$1", Room: r.ID, Body: event.Body{Successor: "!house:here"}}}
	for range 2 {
		tellStaying(r, tombstone, errUnmoved)
		tombstone.Body.Successor = "!barn:here" // an alert that is kept already would not be kept twice
	}
	tombstone.ID, tombstone.Body.Successor = "$2", "!shed:here"
	tellStaying(r, tombstone, errUnmoved)
	data, err := os.ReadFile(filepath.Join(dir, "alerts.json"))
	if n := strings.Count(string(data), "cannot move along"); n != 2 || err != nil {
		t.Errorf("told %d times about two upgrades, %v", n, err)
	}
}

func TestAdapted(t *testing.T) {
	said := func(relation state.Relation, target, about, thread string) state.Message {
		return state.Message{Txn: "t", Body: "x", Relation: relation, Target: target, About: about, Thread: thread}
	}
	plain := said("", "", "", "")
	for name, c := range map[string]struct{ m, want state.Message }{
		"plain":             {plain, plain},
		"reply":             {said(state.Reply, "$a", "", ""), plain},
		"thread":            {said(state.Reply, "$a", "", "$b"), plain},
		"after it":          {said(state.Follows, "$a", "", "$b"), plain},
		"reply to ours":     {said(state.Reply, "", "q", ""), said(state.Reply, "", "q", "")},
		"edit of ours":      {said(state.Edit, "", "n", ""), said(state.Edit, "", "n", "")},
		"redaction of ours": {said(state.Redaction, "", "r", ""), said(state.Redaction, "", "r", "")},
	} {
		if diff := cmp.Diff(c.want, adapted(c.m)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, relation := range []state.Relation{state.Edit, state.Reaction, state.Redaction} {
		if got := adapted(said(relation, "$a", "", "")); got.Status != state.Refused || got.Error == "" {
			t.Errorf("%s: %+v", relation, got)
		}
	}
}
