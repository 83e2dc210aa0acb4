package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// keepRooms fills a state folder like a bot's: three rooms with a container, one without, and questions in one of them.
func keepRooms(t *testing.T, dir string) (*state.Store, *state.Journal) {
	t.Helper()
	ctx := t.Context()
	journal, store, err := state.Open(t.Context(), dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = store.Close(), journal.Close() })
	for room, name := range map[string]string{"!a:x": "sandbox-a", "!b:x": "sandbox-b", "!c:x": "sandbox-c"} {
		if err := store.SetContainer(ctx, room, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.AppendHistory(ctx, "!d:x", state.Turn{Role: "user", Content: "x"}); err != nil {
		t.Fatal(err)
	}
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.Local) }
	put := func(room, id, text string, minute int, to state.TaskState, asked int) {
		t.Helper()
		_, err := journal.Commit(ctx, "s1", []state.Event{{Status: state.Pending, Event: event.Event{Room: room, ID: id, Type: event.TypeMessage, Time: at(minute)}}})
		task := state.Task{Key: id, Room: room, Event: id, Home: room, Execution: id, Text: text, Time: at(minute), Updated: at(asked)}
		err = errors.Join(err, journal.Enqueue(ctx, task), journal.Claim(ctx, task))
		switch to {
		case state.TaskAnswered:
			err = errors.Join(err, journal.Answer(ctx, task, nil))
		case state.TaskWaiting:
			err = errors.Join(err, journal.Wait(ctx, task, nil))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("!a:x", "$1", "an older one", 1, state.TaskRunning, 1)
	put("!b:x", "$2", "make\nit \x1b[31mred\x1b[0m "+strings.Repeat("long ", 20), 2, state.TaskRunning, 2)
	put("!a:x", "$3", "the newest", 3, state.TaskAnswered, 3)
	put("!c:x", "$4", "back up", 4, state.TaskWaiting, 8)
	put("!c:x", "$5", "deploy", 5, state.TaskWaiting, 7)
	put("!c:x", "$6", "the last that asks", 9, state.TaskWaiting, 9)
	return store, journal
}

func TestRoomsTable(t *testing.T) {
	dir := t.TempDir()
	store, journal := keepRooms(t, dir) // both stay open, as in a running bot
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
			lines[i].Agent = "waits"
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
ROOM  NAME         CONTAINER  STATE    AGENT  QUESTIONS                 LAST TASK
!c:x  -            sandbox-c  gone     -      3 since 2026-01-02 03:07  2026-01-02 03:09  asks   the last that asks
!a:x  the kitchen  sandbox-a  running  waits  -                         2026-01-02 03:03  done   the newest
!b:x  -            sandbox-b  exited   -      -                         2026-01-02 03:02  runs   make it red long long long long long lo…
!d:x  -            -          none     -      -                         -
!e:x  -            sandbox-e  running  -      -                         (not in this STATE_DIR)
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// The space is that of the room's container and volumes, which may be labelled with the room that it replaces.
func TestRoomsSpace(t *testing.T) {
	journal, store, err := state.Open(t.Context(), t.TempDir(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = store.Close(), journal.Close() })
	for room, name := range map[string]string{"!old:x": "sandbox-o", "!empty:x": "sandbox-e"} {
		if err := store.SetContainer(t.Context(), room, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.MoveRoom(t.Context(), "!old:x", "!new:x"); err != nil {
		t.Fatal(err)
	}
	lines := []roomLine{{Room: "!empty:x", State: "gone"}, {Room: "!new:x", State: "none"}}
	fillSpace(lines, store, map[string]int64{"!old:x": 5 << 30, "!new:x": 1 << 29, "!another:x": 7})
	var out strings.Builder
	if err := printRooms(&out, lines); err != nil {
		t.Fatal(err)
	}
	want := `
ROOM      NAME  CONTAINER  STATE  AGENT  SPACE    QUESTIONS  LAST TASK
!empty:x  -     -          gone   -      0 MiB    -          -
!new:x    -     -          none   -      5.5 GiB  -          -
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
	if want := "!c:x  -     sandbox-c  ?      -      3 since 2026-01-02 03:07  2026"; !strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, "the newest") {
		t.Errorf("the table lacks %q:\n%s", want, got.stdout)
	}
}

func TestRoomsOfNobody(t *testing.T) {
	var out strings.Builder
	if err := printRooms(&out, nil); err != nil || out.String() != "No rooms yet: invite the bot to one.\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
