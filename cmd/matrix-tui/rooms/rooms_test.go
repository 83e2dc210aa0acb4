package rooms

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/agent"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/sandbox"
	"matrix-tui/state"
)

func TestRoomsTable(t *testing.T) {
	dir := t.TempDir()
	store, journal := clitest.KeepRooms(t, dir) // both stay open, as in a running bot
	lines := JoinRooms(store, []sandbox.Info{
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
	waiting, err := journal.Tasks.Waiting(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	countQuestions(lines, waiting)
	var out strings.Builder
	if err := printRooms(&out, SortRooms(lines)); err != nil {
		t.Fatal(err)
	}
	want := `
ROOM  NAME         CONTAINER  STATE    QUESTIONS                 LAST TASK
!c:x  -            sandbox-c  gone     3 since 2026-01-02 03:07  2026-01-02 03:09  asks     the last that asks
!a:x  the kitchen  sandbox-a  running  -                         2026-01-02 03:03  failed   the newest
!b:x  -            sandbox-b  exited   -                         2026-01-02 03:02  runs     make it red long long long long long lo…
!d:x  -            -          none     -                         -
!e:x  -            sandbox-e  running  -                         (not in this STATE_DIR)
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
		if err := store.Containers.Set(t.Context(), room, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.MoveRoom(t.Context(), "!old:x", "!new:x"); err != nil {
		t.Fatal(err)
	}
	lines := []RoomLine{{Room: "!empty:x", State: "gone"}, {Room: "!new:x", State: "none"}}
	if fillSpace(lines, store, nil); lines[0].Space != "unknown" {
		t.Errorf("an engine that does not know: %q", lines[0].Space)
	}
	fillSpace(lines, store, map[string]int64{"!old:x": 5 << 30, "!new:x": 1 << 29, "!another:x": 7})
	var out strings.Builder
	if err := printRooms(&out, lines); err != nil {
		t.Fatal(err)
	}
	want := `
ROOM      NAME  CONTAINER  STATE  SPACE    QUESTIONS  LAST TASK
!empty:x  -     -          gone   0 MiB    -          -
!new:x    -     -          none   5.5 GiB  -          -
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestRoomsWithoutPodman(t *testing.T) {
	dir := t.TempDir()
	clitest.KeepRooms(t, dir)
	got := clitest.Play(t, t.Context(), roomsCommands, []string{"STATE_DIR=" + dir, "CONTAINER_HOST=unix://" + dir + "/none.sock"}, "rooms")
	if got.Code != 1 || !strings.Contains(got.Stderr, "Podman does not answer") {
		t.Errorf("code %d, stderr %s", got.Code, got.Stderr)
	}
	if want := "!c:x  -     sandbox-c  ?      3 since 2026-01-02 03:07  2026"; !strings.Contains(got.Stdout, want) || !strings.Contains(got.Stdout, "the newest") {
		t.Errorf("the table lacks %q:\n%s", want, got.Stdout)
	}
}

func TestRoomsOfNobody(t *testing.T) {
	var out strings.Builder
	if err := printRooms(&out, nil); err != nil || out.String() != "No rooms yet: invite the bot to one.\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

var roomsCommands = []cli.Command{{Name: "rooms", About: "", Run: Command}, {Name: "logs", About: "", Run: Logs}}

func TestDoing(t *testing.T) {
	for ended, want := range map[agent.Ended]string{agent.Completed: "done", agent.Stopped: "stopped", agent.TimedOut: "failed", "": "failed"} {
		if got := doing(state.Task{State: state.TaskDone, Ended: string(ended)}); got != want {
			t.Errorf("%q: %s, want %s", ended, got, want)
		}
	}
}
