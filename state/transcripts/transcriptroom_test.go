package transcripts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
)

// Two rooms whose IDs somebody has chosen so that their transcripts would have the same name.
const roomA, roomB = "!same:host40029.example", "!same:host40484.example"

func TestTranscriptOfOneRoom(t *testing.T) {
	tr, dir := openTranscripts(t)
	for _, bad := range []error{tr.Append("", Line{Kind: KindNote}), tr.Begin("", "$1", "x")} {
		if bad == nil {
			t.Error("a line without a room was written")
		}
	}
	must(t, tr.Begin(roomA, "$1", "the door code is 4711"))
	must(t, tr.Append(roomA, Line{Kind: KindAssistant, Event: "$1", Text: "noted"}))
	must(t, tr.End(roomA, "$1", "completed"))
	only := func(tr *Files, room string, want int) {
		t.Helper()
		lines, _, err := tr.Load(room)
		must(t, err)
		more, err := Read(filepath.Dir(dir), room, 1<<20)
		must(t, err)
		if len(lines) != want || len(more) != want {
			t.Errorf("%s: %d and %d lines, want %d: %+v", room, len(lines), len(more), want, lines)
		}
		for _, line := range append(lines, more...) {
			if line.Room != room && line.Room != "" {
				t.Errorf("%s reads %+v", room, line)
			}
		}
	}
	only(tr, roomB, 0)
	if ended, err := tr.HasEnd(roomB, "$1"); ended || err != nil {
		t.Errorf("another room's task has ended: %v, %v", ended, err)
	}
	must(t, tr.Redact(roomB, "$1"))
	must(t, tr.Remove(roomB))
	must(t, tr.Begin(roomB, "$1", "what is the code?"))
	only(tr, roomA, 3)
	only(tr, roomB, 1)
	tr, err := Open(filepath.Dir(dir), zerolog.Nop())
	must(t, err)
	must(t, tr.Remove(roomA))
	must(t, tr.End(roomB, "$1", "completed"))
	only(tr, roomA, 0)
	only(tr, roomB, 2) // in its file, although the short name is free
	must(t, tr.Begin(roomA, "$2", "again"))
	only(tr, roomA, 1)
	only(tr, roomB, 2)
}

// The transcripts of earlier releases stay, and what they say stays in its room.
func TestTranscriptOfEarlierRelease(t *testing.T) {
	for name, test := range map[string]struct {
		file []Line
		a, b int // lines of each room
	}{
		"one room": {[]Line{
			{Kind: KindBegin, Event: "$1", Text: "task"}, {Kind: KindTool, Room: roomA, Event: "$1"},
			{Kind: KindAssistant, Room: roomA, Event: "$1", Text: "done"}, {Kind: KindEnd, Event: "$1"},
		}, 4, 0},
		"two rooms": {[]Line{
			{Kind: KindBegin, Event: "$1", Text: "task"}, {Kind: KindAssistant, Room: roomA, Event: "$1"}, {Kind: KindEnd, Event: "$1"},
			{Kind: KindBegin, Event: "$2", Text: "task"}, {Kind: KindAssistant, Room: roomB, Event: "$2"}, {Kind: KindEnd, Event: "$2"},
		}, 3, 0},
		"the same task": {[]Line{
			{Kind: KindBegin, Event: "$1", Text: "task"}, {Kind: KindAssistant, Room: roomA, Event: "$1"}, {Kind: KindAssistant, Room: roomB, Event: "$1"},
		}, 1, 0},
		"no room": {[]Line{{Kind: KindBegin, Event: "$1", Text: "task"}}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tr, dir := openTranscripts(t)
			var file []byte
			for _, line := range test.file {
				file = append(file, line.encode()...)
			}
			must(t, os.WriteFile(fileOf(dir, roomA), file, 0o600))
			for room, want := range map[string]int{roomA: test.a, roomB: test.b} {
				if lines, _, err := tr.Load(room); len(lines) != want || err != nil {
					t.Errorf("%s: %d lines, want %d: %+v, %v", room, len(lines), want, lines, err)
				}
			}
			if test.a == 0 {
				return
			}
			must(t, tr.Begin(roomB, "$3", "mine"))
			must(t, tr.Begin(roomA, "$3", "mine"))
			data, err := os.ReadFile(fileOf(dir, roomA))
			must(t, err)
			if lines, _, _ := parseLines(data[len(file):]); len(lines) != 1 || lines[0].Room != roomA || Changed(filepath.Dir(dir), roomB).IsZero() {
				t.Errorf("the file of %s got %+v", roomA, lines)
			}
		})
	}
}
