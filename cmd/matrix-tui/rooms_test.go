package main

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/agent"
	"matrix-tui/sandbox"
	"matrix-tui/state"
)

// keepRooms fills a state folder as a bot would: three rooms with a container,
// one without, and questions in one of them.
func keepRooms(t *testing.T, dir string) (*state.Store, *state.Journal) {
	t.Helper()
	ctx := t.Context()
	store, err := state.OpenStore(dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	for room, name := range map[string]string{"!a:x": "sandbox-a", "!b:x": "sandbox-b", "!c:x": "sandbox-c"} {
		if err := store.SetContainer(ctx, room, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.AppendHistory(ctx, "!d:x", state.Turn{Role: "user", Content: "x"}); err != nil {
		t.Fatal(err)
	}
	journal, err := state.OpenJournal(ctx, filepath.Join(dir, "journal.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := journal.Close(); err != nil {
			t.Error(err)
		}
	})
	event := func(room, id, body string, minute int) state.Inbound {
		raw, err := json.Marshal(map[string]any{"content": map[string]string{"body": body}})
		if err != nil {
			t.Fatal(err)
		}
		return state.Inbound{Room: room, Event: id, Type: "m.room.message", Raw: raw, Status: state.Pending, Time: time.Date(2026, 1, 2, 3, minute, 0, 0, time.Local)}
	}
	_, err = journal.Commit(ctx, "s1", []state.Inbound{
		event("!a:x", "$1", "an older one", 1), event("!b:x", "$2", "make\nit \x1b[31mred\x1b[0m "+strings.Repeat("long ", 20), 2), event("!a:x", "$3", "the newest", 3),
		event("!c:x", "$4", "back up", 4), event("!c:x", "$5", "deploy", 5), event("!c:x", "$6", "an old record", 9),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct{ room, id string }{{"!a:x", "$1"}, {"!a:x", "$3"}, {"!b:x", "$2"}} {
		if err := journal.Claim(ctx, e.room, e.id, json.RawMessage(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := journal.Answer(ctx, "!a:x", "$3", json.RawMessage(`{}`), nil); err != nil {
		t.Fatal(err)
	}
	for id, task := range map[string]any{"$4": waitingSince(t, 8), "$5": waitingSince(t, 7), "$6": map[string]int{"attempt": 1}} {
		data, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		if err := journal.Wait(ctx, "!c:x", id, data, nil); err != nil {
			t.Fatal(err)
		}
	}
	return store, journal
}

// waitingSince is the part of a task's record that is read here: an execution
// that asked in that minute.
func waitingSince(t *testing.T, minute int) any {
	t.Helper()
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.Local) }
	e, err := agent.NewExecution(agent.ExecutionSpec{ID: "x"}, at(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Start(at(1)), e.Ask("Which?", "", at(67), at(minute))); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"attempt": 1, "execution": e}
}

func TestRoomsTable(t *testing.T) {
	dir := t.TempDir()
	store, journal := keepRooms(t, dir) // both stay open, as with a bot that runs
	lines := joinRooms(store, []sandbox.Info{
		{Name: "sandbox-a", Room: "!a:x", State: "running"},
		{Name: "sandbox-b", Room: "!b:x", State: "exited"},
		{Name: "sandbox-e", Room: "!e:x", State: "running"},
	}, true)
	for i := range lines {
		if err := lines[i].readTask(t.Context(), journal); err != nil {
			t.Fatal(err)
		}
		if lines[i].Room == "!a:x" {
			lines[i].Name = "the kitchen\n\x1b[2J"
		}
	}
	waiting, err := journal.Waiting(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	countQuestions(lines, waiting)
	var out strings.Builder
	if err := printRooms(&out, sortRooms(lines)); err != nil {
		t.Fatal(err)
	}
	want := `
ROOM  NAME             CONTAINER  STATE    QUESTIONS                 LAST TASK
!c:x  -                sandbox-c  gone     3 since 2026-01-02 03:07  2026-01-02 03:09  asks   an old record
!a:x  the kitchen [2J  sandbox-a  running  -                         2026-01-02 03:03  done   the newest
!b:x  -                sandbox-b  exited   -                         2026-01-02 03:02  runs   make it [31mred [0m long long long long…
!d:x  -                -          none     -                         -
!e:x  -                sandbox-e  running  -                         (not in this STATE_DIR)
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestRoomsWithoutPodman(t *testing.T) {
	dir := t.TempDir()
	keepRooms(t, dir)
	got := play(t, t.Context(), []string{"STATE_DIR=" + dir, "CONTAINER_HOST=unix://" + dir + "/none.sock"}, "rooms")
	if got.code != 1 || !strings.Contains(got.stderr, "Podman does not answer") {
		t.Errorf("code %d, stderr %s", got.code, got.stderr)
	}
	if want := "!c:x  -     sandbox-c  ?      3 since 2026-01-02 03:07  2026"; !strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, "the newest") {
		t.Errorf("the table lacks %q:\n%s", want, got.stdout)
	}
}

func TestRoomsOfNobody(t *testing.T) {
	var out strings.Builder
	if err := printRooms(&out, nil); err != nil || out.String() != "No rooms yet: invite the bot to one.\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
