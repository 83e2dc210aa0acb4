package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

// whole is a file of an earlier release.
const whole = `{"containers": {"!r": "box"}, "history": {"!r": [{"role":"user","content":"x","event":"$1"}]}, "sessions": {"!r": "s"},
	"resets": {"!q": "reset"}, "volumes": {"!r": "!old"}, "successors": {"!old": "!r"}, "packages": {"!r": ["jq"]},
	"executions": {"!r": [{"session_id":"1","state":"running"}, "odd"], "!q": 1}, "answer": 42}`

// state.json has three keys, and those that are not ours. Everything is in the journal.
func TestProjection(t *testing.T) {
	dir := t.TempDir()
	writeState(t, dir, whole)
	const want = "{\n  \"containers\": {\n    \"!r\": \"box\"\n  },\n  \"history\": {\n    \"!r\": [\n      " +
		`{"role":"user","content":"x","event":"$1"}` + "\n    ]\n  },\n  \"volumes\": {\n    \"!r\": \"!old\"\n  },\n  \"answer\": 42\n}\n"
	for range 2 {
		j, s, err := Open(ctx, dir, zerolog.Nop())
		must(t, err)
		if diff := cmp.Diff(want, fileNow(t, dir)); diff != "" {
			t.Error(diff)
		}
		if s.Conversations.Session("!r") != "s" || s.Conversations.SessionMark("!q") != "none reset" || s.VolumesOf("!r") != "!old" || s.SuccessorOf("!old") != "!r" ||
			len(s.Packages.Of("!r")) != 1 {
			t.Errorf("%+v", s.rooms)
		}
		must(t, s.Close())
		must(t, j.Close())
	}
}

// A file that disagrees is written again; a lost one, too. One for a lost journal counts.
func TestJournalAndFileDisagree(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	reopen := func(before func()) *Store {
		t.Helper()
		before()
		j, s, err := Open(ctx, dir, zerolog.Nop())
		must(t, err)
		t.Cleanup(func() { must(t, j.Close()) })
		return s
	}
	s := reopen(func() {})
	must(t, s.Containers.Set(ctx, "!r", "box"))
	must(t, s.MoveRoom(ctx, "!r", "!next")) // with its volumes
	must(t, s.Containers.Set(ctx, "!r", "box"))
	must(t, s.Conversations.SetSession(ctx, "!r", "s"))
	must(t, s.Close())
	for name, spoil := range map[string]func(){
		"differs": func() { writeState(t, dir, `{"containers": {"!r": "other", "!q": "third"}, "history": {}}`) },
		"lost":    func() { must(t, os.Remove(path)) },
		"damaged": func() { writeState(t, dir, `{"cont`) },
	} {
		s = reopen(spoil)
		if !strings.Contains(fileNow(t, dir), `"!r": "box"`) || s.Containers.Of("!q") != "" || s.Conversations.Session("!r") != "s" {
			t.Errorf("%s: %s", name, fileNow(t, dir))
		}
		must(t, s.Close())
	}
	s = reopen(func() { must(t, removeDatabase(filepath.Join(dir, "journal.db"))) })
	if s.Containers.Of("!r") != "box" || s.VolumesOf("!next") != "!r" || s.Conversations.Session("!r") != "" {
		t.Errorf("after the loss of the journal: %q, %q", s.Containers.Of("!r"), s.Conversations.Session("!r"))
	}
	must(t, s.Close())
}

// After a snapshot was restored, a newer file counts for what it shows, and sessions end.
func TestNewerFileThanSnapshot(t *testing.T) {
	for _, newer := range []bool{true, false} {
		dir := t.TempDir()
		path := filepath.Join(dir, "journal.db")
		j, s, err := Open(ctx, dir, zerolog.Nop())
		must(t, err)
		turn := func(n int) Turn { return Turn{Role: "user", Content: fmt.Sprint(n), Event: fmt.Sprint("$", n)} }
		must(t, s.Conversations.Append(ctx, "!r", turn(1), turn(2)))
		must(t, s.Conversations.Append(ctx, "!forgotten", turn(1)))
		must(t, s.Conversations.SetSession(ctx, "!r", "s"))
		must(t, s.Containers.Set(ctx, "!old", "box"))
		must(t, j.Snapshots.take(ctx))
		must(t, s.MoveRoom(ctx, "!old", "!next"))
		must(t, s.Conversations.Append(ctx, "!r", turn(3)))
		must(t, s.Conversations.Set(ctx, "!forgotten", nil))
		must(t, s.Containers.Set(ctx, "!new", "box"))
		must(t, s.Close())
		must(t, j.db.Close())
		at := time.Now().Add(time.Hour)
		if !newer {
			at = at.Add(-2 * time.Hour)
		}
		must(t, os.Chtimes(filepath.Join(dir, "state.json"), at, at))
		must(t, os.WriteFile(path, []byte("no database, certainly none"), 0o600))
		s = openStore(t, dir)
		want, container, session := []Turn{turn(1), turn(2)}, "", "s"
		if newer {
			want, container, session = append(want, turn(3)), "box", ""
		}
		if diff := cmp.Diff(want, historyOf(t, s, "!r")); diff != "" || s.Containers.Of("!new") != container || s.Conversations.Session("!r") != session {
			t.Errorf("newer %v: %q %q %s", newer, s.Containers.Of("!new"), s.Conversations.Session("!r"), diff)
		}
		if moved := s.VolumesOf("!next") == "!old" && s.Containers.Of("!old") == ""; moved != newer {
			t.Errorf("newer %v: moved %v", newer, moved)
		}
		if forgotten := len(historyOf(t, s, "!forgotten")) == 0; forgotten != newer {
			t.Errorf("newer %v: forgotten %v", newer, forgotten)
		}
	}
}

// What is kept of a room in the file is bounded, and changes share a write.
func TestFileIsBounded(t *testing.T) {
	dir := t.TempDir()
	j, s, err := Open(ctx, dir, zerolog.Nop())
	must(t, err)
	for i := range 60 {
		must(t, s.Conversations.Append(ctx, "!r", Turn{Role: "user", Content: strings.Repeat("x", 15<<10), Event: fmt.Sprint("$", i)}))
	}
	must(t, s.Close())
	must(t, j.Close())
	file := fileNow(t, dir)
	if len(file) > fileHistory+1000 || !strings.Contains(file, `"$59"`) || strings.Contains(file, `"$1"`) {
		t.Errorf("%d bytes", len(file))
	}
	if got := len(historyOf(t, openStore(t, dir), "!r")); got != MaxTurns {
		t.Errorf("%d turns in the journal", got)
	}
}

// A file that is as it is to be is not written again. It differs by a byte, or is longer: then it is.
func TestFileThatAgreesStays(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	reopen := func() {
		t.Helper()
		j, s, err := Open(ctx, dir, zerolog.Nop())
		must(t, err)
		must(t, s.Containers.Set(ctx, "!r", "box"))
		must(t, s.Close())
		must(t, j.Close())
	}
	reopen()
	want := fileNow(t, dir)
	for name, c := range map[string]struct {
		text  string
		stays bool
	}{
		"agrees":  {want, true},
		"differs": {strings.Replace(want, "box", "fox", 1), false},
		"longer":  {want + "\n", false},
		"shorter": {strings.TrimSuffix(want, "\n"), false},
	} {
		writeState(t, dir, c.text)
		before, err := os.Stat(path)
		must(t, err)
		reopen()
		after, err := os.Stat(path)
		must(t, err)
		if os.SameFile(before, after) != c.stays || fileNow(t, dir) != want {
			t.Errorf("%s: the file is the same one: %v; %s", name, os.SameFile(before, after), fileNow(t, dir))
		}
	}
}
