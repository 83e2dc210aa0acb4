package rooms

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/sandbox"
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
!c:x  -            sandbox-c  gone     3 since 2026-01-02 03:07  2026-01-02 03:09  asks   the last that asks
!a:x  the kitchen  sandbox-a  running  -                         2026-01-02 03:03  done   the newest
!b:x  -            sandbox-b  exited   -                         2026-01-02 03:02  runs   make it red long long long long long lo…
!d:x  -            -          none     -                         -
!e:x  -            sandbox-e  running  -                         (not in this STATE_DIR)
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
