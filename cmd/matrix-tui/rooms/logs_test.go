package rooms

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/sandbox"
	"matrix-tui/state/transcripts"
)

func TestChooseRoom(t *testing.T) {
	rooms := []RoomLine{
		{Room: "!den:x", Name: "The Den", Container: "sandbox-den-11112222"},
		{Room: "!denver:x", Name: "kitchen", Container: "sandbox-denver-33334444"},
		{Room: "!attic:x", Name: "kitchen"},
	}
	for wanted, want := range map[string]string{
		"!den:x": "!den:x", "sandbox-denver-33334444": "!denver:x", "the den": "!den:x", "the": "!den:x",
		"sandbox-den-": "!den:x", "den-1": "!den:x", "!attic": "!attic:x", "Kitchen": "!attic:x, sandbox-denver-33334444; use the container name or the room ID",
		"den": "sandbox-den-11112222, sandbox-denver-33334444; use the container name or the room ID", "cellar": "no room named", "": "no room named",
	} {
		got, err := ChooseRoom(rooms, wanted)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %s", wanted, err, want)
			}
		} else if got.Room != want {
			t.Errorf("%q is %s, want %s", wanted, got.Room, want)
		}
	}
}

func TestLogsOfARoom(t *testing.T) {
	dir := t.TempDir()
	clitest.KeepRooms(t, dir)
	logs, err := transcripts.Open(dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		if err := logs.Append("!c:x", transcripts.Line{Time: time.Unix(int64(i), 0), Kind: transcripts.KindTool, Tool: "run", Text: fmt.Sprintf("step %d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := logs.Append("!c:x", transcripts.Line{Kind: transcripts.KindAssistant, Text: "the key is " + clitest.Hidden + "\n\x1b[31mred " + strings.Repeat("long ", 200)}); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(dir, "transcripts", sandbox.NameFor("!c:x")+".jsonl")
	if f, err := os.OpenFile(torn, os.O_APPEND|os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	} else if _, err := f.WriteString(`{"kind":"no`); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(torn)

	environ := []string{"STATE_DIR=" + dir, "CONTAINER_HOST=unix://" + dir + "/none.sock", "GEMINI_API_KEY=" + clitest.Hidden}
	got := clitest.Play(t, t.Context(), roomsCommands, environ, "logs", "sandbox-c", "-n", "3")
	lines := strings.Split(got.Stdout, "\n")
	if got.Code != 0 || !strings.HasPrefix(lines[0], "room !c:x, container sandbox-c, state unknown: podman does not answer; 3 waiting for an answer") {
		t.Fatalf("code %d, stderr %s, stdout %s", got.Code, got.Stderr, got.Stdout)
	}
	if !strings.Contains(lines[1], "tool   run step 58") || !strings.Contains(lines[3], "agent  the key is redacted red long") || !strings.HasSuffix(lines[3], "…") {
		t.Errorf("entries: %s", got.Stdout)
	}
	if clitest.Leaks(got.Stdout) || strings.Contains(got.Stdout, "\x1b") || len(lines) > 6 {
		t.Errorf("too much is shown: %s", got.Stdout)
	}
	if after, _ := os.ReadFile(torn); string(after) != string(before) {
		t.Error("reading changed the transcript")
	}
	for _, args := range [][]string{{"logs"}, {"logs", "a", "b"}, {"logs", "cellar"}, {"logs", "sandbox-c", "-n", "0"}} {
		if got := clitest.Play(t, t.Context(), roomsCommands, environ, args...); got.Code != 2 {
			t.Errorf("%v: code %d, %s", args, got.Code, got.Stderr)
		}
	}

	// -f ends with the process's context, after the entries that came meanwhile.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &until{want: "came later", found: cancel}
	done := make(chan error, 1)
	go func() {
		done <- logSource{dir: dir, room: RoomLine{Room: "!c:x", Container: "sandbox-c"}}.print(ctx, out, 1, true)
	}()
	if err := logs.Append("!c:x", transcripts.Line{Kind: transcripts.KindEnd, Outcome: "came later"}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// until is a writer that signals when it receives a text.
type until struct {
	want  string
	found func()
}

func (u *until) Write(p []byte) (int, error) {
	if strings.Contains(string(p), u.want) {
		u.found()
	}
	return len(p), nil
}

func TestLogsInPod(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.43.0.1")
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want := "(what the bot logged: kubectl -n default logs " + name + " | grep -F '!a:x')"
	if got := (logSource{room: RoomLine{Room: "!a:x"}}).elsewhere(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
