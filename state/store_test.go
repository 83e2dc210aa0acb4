package state

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/disk"
)

var ctx = context.Background()

// oldFile is a state.json of the bot that this one replaced: it has two keys.
const oldFile = `{
  "containers": {
    "!roomid:matrix.org": "container-name"
  },
  "history": {
    "!roomid:matrix.org": [
      {"role": "user", "content": "..."},
      {"role": "assistant", "content": "..."}
    ]
  }
}
`

func writeState(t testing.TB, dir, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, "state.json"), []byte(text), 0o600))
}

// fileNow returns state.json as it is.
func fileNow(t testing.TB, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "state.json"))
	must(t, err)
	return string(data)
}

// readState returns state.json once it is up to date.
func readState(t testing.TB, s *Store) string {
	t.Helper()
	dir := filepath.Dir(s.path)
	must(t, s.writeFile())
	return fileNow(t, dir)
}

func TestStoreLoadsOldFile(t *testing.T) {
	dir := t.TempDir()
	writeState(t, dir, oldFile)
	s := openStore(t, dir)
	if got := s.Containers.Of("!roomid:matrix.org"); got != "container-name" {
		t.Errorf("container %q", got)
	}
	want := []Turn{{Role: "user", Content: "..."}, {Role: "assistant", Content: "..."}}
	if diff := cmp.Diff(want, historyOf(t, s, "!roomid:matrix.org")); diff != "" {
		t.Error(diff)
	}
	if s.Corrupt() != "" || !strings.Contains(readState(t, s), `"!roomid:matrix.org": "container-name"`) {
		t.Error("the file lost the container")
	}
}

func TestStoreRemembers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	s := openStore(t, dir)
	must(t, s.Containers.Set(ctx, "!a:x", "sandbox-a"))
	must(t, s.Containers.Set(ctx, "!b:x", "sandbox-b"))
	must(t, s.Containers.Drop(ctx, "!b:x"))
	must(t, s.Containers.Drop(ctx, "!never:x"))
	must(t, s.Conversations.SetSession(ctx, "!a:x", "session-1"))
	must(t, s.Conversations.Append(ctx, "!a:x", Turn{"user", "hi <b> & \"q\"\n\x00☃", "$1"}, Turn{"assistant", "ho", "$1"}))
	must(t, s.Conversations.Append(ctx, "!c:x", Turn{Role: "user", Content: "only said"}))

	again := openStore(t, dir)
	if diff := cmp.Diff(map[string]string{"!a:x": "sandbox-a"}, again.Containers.All()); diff != "" {
		t.Error(diff)
	}
	if got := again.Conversations.Session("!a:x"); got != "session-1" {
		t.Errorf("session %q", got)
	}
	if diff := cmp.Diff(historyOf(t, s, "!a:x"), historyOf(t, again, "!a:x")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"!a:x", "!c:x"}, again.Rooms()); diff != "" {
		t.Error(diff)
	}
	looked, err := ReadStore(dir)
	must(t, err)
	if diff := cmp.Diff(again.Rooms(), looked.Rooms()); diff != "" {
		t.Error(diff)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "state.json"): 0o600} {
		info, err := os.Stat(path)
		must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

func TestStoreHistoryRules(t *testing.T) {
	user := func(event, text string) Turn { return Turn{Role: "user", Content: text, Event: event} }
	many := make([]Turn, 60)
	for i := range many {
		many[i] = user(fmt.Sprint("$", i), fmt.Sprint(i))
	}
	long := strings.Repeat("ä", MaxContent)
	tests := []struct {
		name     string
		has, add []Turn
		want     []Turn
	}{
		{"same event and role is there once", []Turn{user("$1", "a")}, []Turn{user("$1", "a"), user("$2", "b"), user("$2", "b")}, []Turn{user("$1", "a"), user("$2", "b")}},
		{"same event, other role", []Turn{user("$1", "a")}, []Turn{{"assistant", "b", "$1"}}, []Turn{user("$1", "a"), {"assistant", "b", "$1"}}},
		{"no event is never the same", []Turn{user("", "a")}, []Turn{user("", "a")}, []Turn{user("", "a"), user("", "a")}},
		{"the newest fifty stay", many[:45], many[45:], many[10:]},
		{"more than fifty at once", nil, many, many[10:]},
		{"long content is cut and marked", nil, []Turn{user("$1", long)}, []Turn{user("$1", disk.Clip(long, MaxContent))}},
		{"bytes that are no text", nil, []Turn{user("$1", "a\xffb")}, []Turn{user("$1", "a\uFFFDb")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := openStore(t, t.TempDir())
			must(t, s.Conversations.Append(ctx, "!r", test.has...))
			must(t, s.Conversations.Append(ctx, "!r", test.add...))
			must(t, s.Conversations.Append(ctx, "!r", test.add[len(test.add):]...))
			if diff := cmp.Diff(test.want, historyOf(t, s, "!r")); diff != "" {
				t.Error(diff)
			}
			if kept, err := s.journal.history(ctx, "!r"); err != nil || len(kept) > MaxTurns {
				t.Errorf("%d turns are kept, %v", len(kept), err)
			}
		})
	}
}

func TestClip(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{strings.Repeat("a", 100), strings.Repeat("a", 100)},
		{strings.Repeat("a", 101), strings.Repeat("a", 52) + "\n[… 49 bytes left out]"},
		{strings.Repeat("€", 34), strings.Repeat("€", 17) + "\n[… 51 bytes left out]"},
	}
	for _, test := range tests {
		got := disk.Clip(test.text, 100)
		if got != test.want || len(got) > 100 {
			t.Errorf("clip(%q) = %q, %d bytes", test.text, got, len(got))
		}
		if again := disk.Clip(got, 100); again != got {
			t.Errorf("clip twice gives %q", again)
		}
	}
}

func TestStoreSetHistory(t *testing.T) {
	s := openStore(t, t.TempDir())
	a, b := []Turn{{Role: "user", Content: "a"}}, []Turn{{Role: "user", Content: "b"}}
	must(t, s.Conversations.Set(ctx, "!r", a))
	must(t, s.Conversations.Set(ctx, "!r", b))
	if diff := cmp.Diff(b, historyOf(t, s, "!r")); diff != "" {
		t.Error(diff)
	}
	must(t, s.Conversations.Set(ctx, "!r", nil))
	if len(s.Rooms()) != 0 {
		t.Error("a cleared history still exists")
	}
}

func TestStoreMoveRoom(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	must(t, s.Containers.Set(ctx, "!old", "box"))
	must(t, s.Conversations.SetSession(ctx, "!old", "session"))
	must(t, s.Conversations.Append(ctx, "!old", Turn{"user", "before", "$1"}))
	must(t, s.Conversations.Append(ctx, "!new", Turn{"user", "after", "$2"}))
	for range 2 {
		must(t, s.MoveRoom(ctx, "!old", "!new"))
	}
	must(t, s.MoveRoom(ctx, "!new", "!new"))
	if s.MoveRoom(ctx, "!new", "") == nil {
		t.Error("moved to an empty room ID")
	}
	s = openStore(t, dir)
	if diff := cmp.Diff([]string{"!new"}, s.Rooms()); diff != "" {
		t.Error(diff)
	}
	if s.Containers.Of("!new") != "" || s.Conversations.Session("!new") != "session" {
		t.Error("the old container still exists, or the session did not move")
	}
	if got := s.VolumesOf("!new"); got != "!old" {
		t.Errorf("the successor works on the volumes of %q", got)
	}
	if diff := cmp.Diff([]Turn{{"user", "before", "$1"}, {"user", "after", "$2"}}, historyOf(t, s, "!new")); diff != "" {
		t.Error(diff)
	}

	must(t, s.Containers.Set(ctx, "!third", "own"))
	must(t, s.MoveRoom(ctx, "!new", "!third"))
	if got := s.Containers.Of("!third"); got != "own" {
		t.Errorf("the successor's own container became %q", got)
	}
	if got := s.VolumesOf("!third"); got != "!third" {
		t.Errorf("the successor with a container of its own works on the volumes of %q", got)
	}
}

// Whoever remembers the mark sees that somebody has ended the session since then, also after a restart and in the room's
// successor.
func TestSessionMark(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	must(t, s.Containers.Set(ctx, "!r", "box"))
	seen := map[string]bool{}
	isNew := func(what, mark string) {
		t.Helper()
		if seen[mark] {
			t.Errorf("%s: %q was the mark before", what, mark)
		}
		seen[mark] = true
	}
	isNew("at first", s.Conversations.SessionMark("!r"))
	for range 2 {
		must(t, s.Conversations.EndSession(ctx, "!r"))
		isNew("after a reset", s.Conversations.SessionMark("!r"))
	}
	before := s.Conversations.SessionMark("!r")
	must(t, s.Conversations.SetSession(ctx, "!r", "session"))
	if got := s.Conversations.SessionMark("!r"); got != "session" {
		t.Errorf("the mark of a session is %q", got)
	}
	must(t, s.Conversations.SetSession(ctx, "!r", ""))
	if s = openStore(t, dir); s.Conversations.SessionMark("!r") != before {
		t.Errorf("the mark became %q", s.Conversations.SessionMark("!r"))
	}
	must(t, s.MoveRoom(ctx, "!r", "!new"))
	if got := s.Conversations.SessionMark("!new"); got != before {
		t.Errorf("in the successor, the mark is %q, want %q", got, before)
	}
	must(t, s.RemoveRoom(ctx, "!new"))
	if got := s.Conversations.SessionMark("!new"); got != "" || strings.Contains(readState(t, s), "resets") {
		t.Errorf("a removed room has the mark %q", got)
	}
	must(t, s.Conversations.SetSession(ctx, "!r", "session"))
	must(t, s.Conversations.EndSession(ctx, "!r"))
	if s.Conversations.Session("!r") != "" {
		t.Error("the session has not ended")
	}
}

func TestStoreKeepsUnknownKeys(t *testing.T) {
	unknown := map[string]string{
		"surprises": `{"!r": {"id":  "x1",  "n": 1.50e3, "<&>": "é\u00e9"}}`,
		"version":   `12345678901234567890`,
		"weird \"k": "[ ]",
	}
	var b strings.Builder
	b.WriteString(`{"surprises": ` + unknown["surprises"] + `, "containers": {"!r": "c"}, "version":` + unknown["version"] +
		`, "history": {"!r": [{"role":"user","content":"x","mood":"good","event":"$1"}]}, "weird \"k": ` + unknown["weird \"k"] + `}`)
	dir := t.TempDir()
	writeState(t, dir, b.String())
	s := openStore(t, dir)
	must(t, s.Containers.Set(ctx, "!other", "d"))
	must(t, s.Conversations.Append(ctx, "!r", Turn{Role: "user", Content: "more"}))
	saved := readState(t, s)
	for key, value := range unknown {
		if !strings.Contains(saved, string(disk.JSON(key))+": "+value) {
			t.Errorf("%s: %s is gone from\n%s", key, value, saved)
		}
	}
	if !strings.Contains(saved, `{"role":"user","content":"x","mood":"good","event":"$1"}`) {
		t.Errorf("a turn's unknown key is gone from\n%s", saved)
	}
	if i, j := strings.Index(saved, `"surprises"`), strings.Index(saved, `"version"`); i > j {
		t.Error("unknown keys changed their order")
	}
}
