package rooms

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// The output of journalctl --output=json: text, or an array of bytes if it is not text.
func TestJournalEntries(t *testing.T) {
	out := `{"__REALTIME_TIMESTAMP":"1767322983000001","MESSAGE":"{\"level\":\"warn\",\"error\":\"podman is unreachable\",\"room\":\"!den:x\",\"time\":\"2026-01-02T03:03:03Z\",\"message\":\"told the room\"}"}
{"__REALTIME_TIMESTAMP":"1767322984000000","MESSAGE":"{\"level\":\"warn\",\"room\":\"!other:x\",\"message\":\"told the room\"}"}
{"__REALTIME_TIMESTAMP":"1767322985000000","MESSAGE":"{\"level\":\"info\",\"after_ms\":12,\"message\":\"ready\"}"}
{"__REALTIME_TIMESTAMP":"1767322986000000","MESSAGE":"{\"level\":\"warn\",\"container\":\"sandbox-den\",\"message\":\"container cannot be used\"}"}
{"__REALTIME_TIMESTAMP":"1767322986000000","MESSAGE":"{\"level\":\"warn\",\"room\":\"!other:x\",\"container\":\"sandbox-den\",\"message\":\"of a room with the same name\"}"}
{"__REALTIME_TIMESTAMP":"1767322987000000","MESSAGE":[123,34]}
{"__REALTIME_TIMESTAMP":"x","MESSAGE":"{\"room\":\"!den:x\"}"}
{"__REALTIME_TIMESTAMP":"1767322987000000","MESSAGE":"Started matrix-tui.service"}
no JSON
`
	var got []string
	for _, e := range journalEntries([]byte(out), RoomLine{Room: "!den:x", Container: "sandbox-den"}) {
		got = append(got, fmt.Sprintf("%s %s %s", e.at.Format(time.RFC3339), e.kind, e.text))
	}
	want := []string{
		"2026-01-02T03:03:03Z warn told the room error=podman is unreachable",
		"2026-01-02T03:03:05Z info ready after_ms=12",
		"2026-01-02T03:03:06Z warn container cannot be used",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// Whatever a journal contains, an entry is one harmless line.
func FuzzJournalEntries(f *testing.F) {
	f.Add([]byte(`{"__REALTIME_TIMESTAMP":"1767322983000001","MESSAGE":"{\"room\":\"!a:x\",\"message\":\"x\\n\\u001b[2J\",\"a\":{\"b\":[1]}}"}`))
	f.Add([]byte(`{"__REALTIME_TIMESTAMP":"99999999999999999999","MESSAGE":"{}"}`))
	f.Fuzz(func(t *testing.T, out []byte) {
		for _, e := range journalEntries(out, RoomLine{Room: "!a:x"}) {
			if line := (logSource{}).line(e); strings.ContainsAny(line, "\n\r\x1b") || len([]rune(line)) > logsText+200 {
				t.Errorf("%q", line)
			}
		}
	})
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
		done <- logSource{dir: dir, unit: "none", room: RoomLine{Room: "!c:x", Container: "sandbox-c"}}.print(ctx, out, 1, true)
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
