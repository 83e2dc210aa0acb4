package transcripts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rs/zerolog"

	"matrix-tui/state/roomname"
)

func openTranscripts(t testing.TB) (*Files, string) {
	t.Helper()
	dir := t.TempDir()
	tr, err := Open(dir, zerolog.Nop())
	must(t, err)
	return tr, filepath.Join(dir, "transcripts")
}

// fileOf returns the file of a room's transcript that has its short name.
func fileOf(dir, room string) string {
	return filepath.Join(dir, "sandbox-"+roomname.Short(room)+".jsonl")
}

var ignoreTime = cmpopts.IgnoreFields(Line{}, "Time")

func TestTranscript(t *testing.T) {
	tr, dir := openTranscripts(t)
	at := time.Date(2026, 2, 24, 2, 30, 0, 0, time.UTC)
	for range 2 { // as after a crash
		must(t, tr.Begin("box", "$1", "write a prime checker"))
	}
	must(t, tr.Append("box", Line{Time: at, Kind: KindTool, Event: "$1", Tool: "write_file", Text: "utils.py\n\"x\""}))
	if ended, err := tr.HasEnd("box", "$1"); ended || err != nil {
		t.Errorf("ended %v, %v", ended, err)
	}
	for range 2 {
		must(t, tr.End("box", "$1", "completed"))
	}
	must(t, tr.Begin("box", "$2", "next"))
	for event, want := range map[string]bool{"$1": true, "$2": false, "completed": false} {
		if ended, err := tr.HasEnd("box", event); ended != want || err != nil {
			t.Errorf("%s ended: %v, %v", event, ended, err)
		}
	}
	lines, torn, err := tr.Load("box")
	must(t, err)
	want := []Line{
		{Kind: KindBegin, Room: "box", Event: "$1", Text: "write a prime checker"},
		{Kind: KindTool, Room: "box", Event: "$1", Tool: "write_file", Text: "utils.py\n\"x\""},
		{Kind: KindEnd, Room: "box", Event: "$1", Outcome: "completed"},
		{Kind: KindBegin, Room: "box", Event: "$2", Text: "next"},
	}
	if diff := cmp.Diff(want, lines, ignoreTime); diff != "" || torn {
		t.Error(torn, diff)
	}
	if !lines[1].Time.Equal(at) || time.Since(lines[0].Time) > time.Minute {
		t.Errorf("times %v, %v", lines[0].Time, lines[1].Time)
	}
	info, err := os.Stat(fileOf(dir, "box"))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", info.Mode().Perm())
	}
	if lines, torn, err := tr.Load("other"); len(lines) > 0 || torn || err != nil {
		t.Errorf("a missing transcript: %v %v %v", lines, torn, err)
	}
}

// An incomplete line is cut off, by Load and before anything is added; complete lines stay.
func TestTornTranscript(t *testing.T) {
	first := Line{Kind: KindBegin, Room: "load", Event: "$1", Text: "task"}.encode()
	end := Line{Kind: KindEnd, Room: "load", Event: "$1", Outcome: "completed"}.encode()
	long := Line{Kind: KindAssistant, Room: "load", Text: strings.Repeat("x", MaxText)}.encode()
	tests := map[string]struct {
		file []byte
		want int // complete lines
	}{
		"half a line":          {append(bytes.Clone(first), end[:20]...), 1},
		"no newline":           {append(bytes.Clone(first), end[:len(end)-1]...), 1},
		"only half a line":     {first[:10], 0},
		"half a long line":     {append(bytes.Clone(first), long[:len(long)-5]...), 1},
		"zeros at the end":     {append(bytes.Clone(first), make([]byte, 4096)...), 1},
		"a long line, half of": {long[:len(long)-1], 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tr, dir := openTranscripts(t)
			for _, room := range []string{"load", "add"} {
				file := bytes.ReplaceAll(test.file, []byte(`"room":"load"`), []byte(`"room":"`+room+`"`))
				must(t, os.WriteFile(fileOf(dir, room), file, 0o600))
			}
			if ended, err := tr.HasEnd("load", "$1"); ended || err != nil {
				t.Errorf("half an end line counts: %v %v", ended, err)
			}
			lines, torn, err := tr.Load("load")
			must(t, err)
			if !torn || len(lines) != test.want {
				t.Errorf("torn %v, %d lines, want %d", torn, len(lines), test.want)
			}
			if _, torn, _ := tr.Load("load"); torn {
				t.Error("the torn line is still there")
			}
			must(t, tr.End("add", "$1", "completed"))
			lines, torn, err = tr.Load("add")
			must(t, err)
			if torn || len(lines) != test.want+1 || lines[test.want].Kind != KindEnd {
				t.Errorf("torn %v, lines %+v", torn, lines)
			}
		})
	}
}

func TestTranscriptBounds(t *testing.T) {
	tr, dir := openTranscripts(t)
	tr.max = 200 << 10
	nasty := strings.Repeat("\x01", MaxText+10) // six bytes each in JSON
	for i := range 20 {
		must(t, tr.Append("box", Line{Kind: KindTool, Event: fmt.Sprint("$", i), Tool: strings.Repeat("t", maxField+1), Text: nasty[:len(nasty)/4]}))
	}
	var total int64
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		info, err := e.Info()
		must(t, err)
		total += info.Size()
	}
	if len(entries) != 2 || total > 2*tr.max {
		t.Errorf("%d files of %d bytes", len(entries), total)
	}
	lines, _, err := tr.Load("box")
	must(t, err)
	if len(lines) < 2 || lines[len(lines)-1].Event != "$19" || lines[len(lines)-2].Event != "$18" {
		t.Fatalf("%d lines", len(lines))
	}
	if got := len(lines[0].Tool); got > maxField {
		t.Errorf("tool of %d bytes", got)
	}
	if got := len(Line{Kind: KindTool, Text: nasty, Tool: nasty, Room: nasty, Event: nasty, Outcome: nasty}.encode()); got > maxLine {
		t.Errorf("a line of %d bytes is longer than what is read", got)
	}
}

// A begin line from before the rotation is found, one from long ago is not searched; the end of a task is found
// wherever it is.
func TestTranscriptSearch(t *testing.T) {
	tr, dir := openTranscripts(t)
	path := fileOf(dir, "box")
	must(t, tr.Begin("box", "$1", "task"))
	must(t, tr.End("box", "$1", "completed"))
	must(t, os.Rename(path, path+".1"))
	must(t, tr.Begin("box", "$1", "task"))
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("a second begin line was written")
	}
	must(t, os.WriteFile(path, bytes.Repeat(Line{Kind: KindTool, Room: "box", Text: strings.Repeat("x", 1000)}.encode(), searched/1000), 0o600))
	if ended, err := tr.HasEnd("box", "$1"); !ended || err != nil {
		t.Errorf("ended %v, %v", ended, err)
	}
	must(t, tr.Begin("box", "$1", "task"))
	lines, _, err := tr.Load("box")
	must(t, err)
	if lines[len(lines)-1].Kind != KindBegin {
		t.Error("no begin line")
	}
}

func TestTranscriptSkipsForeignLines(t *testing.T) {
	tr, dir := openTranscripts(t)
	file := "no json\n\n[1]\n{}\n" + strings.Repeat("x", maxLine+5) + "\n" + string(Line{Kind: KindEnd, Room: "box", Event: "$1"}.encode())
	must(t, os.WriteFile(fileOf(dir, "box"), []byte(file), 0o600))
	lines, torn, err := tr.Load("box")
	must(t, err)
	if diff := cmp.Diff([]Line{{Kind: KindEnd, Room: "box", Event: "$1"}}, lines); diff != "" || torn {
		t.Error(torn, diff)
	}
	if ended, err := tr.HasEnd("box", "$1"); !ended || err != nil {
		t.Errorf("%v, %v", ended, err)
	}
}

func FuzzTranscript(f *testing.F) {
	whole := append(Line{Kind: KindBegin, Event: "$1", Text: "x"}.encode(), Line{Kind: KindEnd, Event: "$1"}.encode()...)
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add([]byte("\n\n\x00{\"kind\":\"end\",\"event\":\"$1\"}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, torn, bad := parseLines(data)
		end, err := lastLineEnd(bytes.NewReader(data), int64(len(data)))
		must(t, err)
		if end != int64(len(data)-torn) {
			t.Errorf("a torn line of %d bytes, but %d are cut", torn, int64(len(data))-end)
		}
		count := 0
		_, err = anyLine(bytes.NewReader(data), func([]byte) bool { count++; return false })
		must(t, err)
		if count < len(lines)+bad {
			t.Errorf("%d lines are searched, %d are read", count, len(lines)+bad)
		}
		again := Line{Kind: KindNote, Text: string(data), Tool: string(data)}.encode()
		if lines, torn, bad := parseLines(again); len(again) > maxLine || len(lines) != 1 || torn+bad > 0 {
			t.Errorf("the written text is not one line: %q", again)
		}
	})
}

// Begin and End of a task on a transcript of maximum length.
func BenchmarkTranscriptTaskInLongFile(b *testing.B) {
	tr, dir := openTranscripts(b)
	line := Line{Kind: KindTool, Event: "$before", Tool: "run_shell_command", Text: strings.Repeat("output ", 100)}.encode()
	must(b, os.WriteFile(filepath.Join(dir, "box.jsonl"), []byte(strings.Repeat(string(line), (Max-1<<20)/len(line))), 0o600))
	i := 0
	for b.Loop() {
		i++
		must(b, tr.Begin("box", fmt.Sprint("$", i), "task"))
		must(b, tr.End("box", fmt.Sprint("$", i), "completed"))
	}
}

func TestRemoveTranscript(t *testing.T) {
	dir := t.TempDir()
	transcripts, err := Open(dir, zerolog.Nop())
	must(t, err)
	must(t, transcripts.Begin("sandbox-a", "$1", "hello"))
	must(t, transcripts.Begin("sandbox-b", "$1", "hello"))
	must(t, os.WriteFile(fileOf(filepath.Join(dir, "transcripts"), "sandbox-a")+".1", nil, 0o600))
	must(t, transcripts.Remove("sandbox-a"))
	must(t, transcripts.Remove("sandbox-a"))
	left, err := os.ReadDir(filepath.Join(dir, "transcripts"))
	must(t, err)
	if len(left) != 1 || left[0].Name() != filepath.Base(fileOf(dir, "sandbox-b")) {
		t.Errorf("left: %v", left)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
