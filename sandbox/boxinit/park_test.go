package boxinit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// parkRun parks a run that says it is ready and then repeats its input.
func parkRun(t *testing.T, s store, order Parking) Reply {
	t.Helper()
	if order.Run.ID == "" {
		order.Run.ID = "parked-1"
	}
	order.Run.Dir, order.Run.Argv = "/", []string{"sh", "-c", "echo ready; cat; exit 3"}
	_, reply := ask(t, s, Request{Op: OpPark, Park: &order}, "")
	return reply
}

// supervisorOf returns the record of the parked run's supervisor.
func supervisorOf(t *testing.T, s store) (sup supervisorRecord) {
	t.Helper()
	if err := readJSON(s.file(parkedRun, "supervisor.json"), &sup); err != nil {
		t.Fatal(err)
	}
	return sup
}

// ended waits until a process has ended.
func ended(t *testing.T, name string, pid int) {
	t.Helper()
	for range 500 {
		if p, err := processOf(pid); err != nil || p.dead {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: process %d still runs", name, pid)
}

func TestParked(t *testing.T) {
	s, tree := testStore(t), t.TempDir()
	facts := Facts{Tree: tree, Skip: []string{"node_modules"}, Files: []string{tree + "/../settings"}}
	order := Parking{Key: "key", For: time.Hour, Facts: facts}
	big := strings.Repeat("0123456789", 60_000)
	write := func(name, text string) func() {
		return func() {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	signal := func(of func(supervisorRecord) int, sig unix.Signal) func() {
		return func() {
			pid := of(supervisorOf(t, s))
			if err := unix.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
			for p, err := processOf(pid); err == nil && !p.dead && !p.stopped; p, err = processOf(pid) {
				time.Sleep(time.Millisecond) // a signal arrives when the process has a processor
			}
		}
	}
	main, supervisor := func(r supervisorRecord) int { return r.Main }, func(r supervisorRecord) int { return r.PID }
	for name, c := range map[string]struct {
		change func()
		key    string
		input  string
		warm   bool
	}{
		"used":                              {nil, "key", "hello", true},
		"a long input":                      {nil, "key", big, true},
		"no input":                          {nil, "key", "", true},
		"another key":                       {nil, "other", big, false},
		"no key":                            {nil, "", "hello", false},
		"a file that instructions refer to": {write("imported.md", "three"), "key", "hello", false},
		"another name":                      {write("a/new", ""), "key", "hello", false},
		"instructions":                      {write("GEMINI.md", "two"), "key", "hello", false},
		"killed":                            {signal(main, unix.SIGKILL), "key", "hello", false},
		"stopped":                           {signal(main, unix.SIGSTOP), "key", "hello", false},
		"supervisor killed":                 {signal(supervisor, unix.SIGKILL), "key", "hello", false},
		"supervisor stopped":                {signal(supervisor, unix.SIGSTOP), "key", "hello", false},
	} {
		write("file", "one")()
		write("imported.md", "one")()
		write("GEMINI.md", "one @imported.md")()
		id := strings.ReplaceAll(name, " ", "-")
		if answer := parkRun(t, s, order); answer.Failed() || answer.Existed {
			t.Fatalf("%s: %+v", name, answer)
		}
		if answer := parkRun(t, s, order); answer.Failed() || !answer.Existed || answer.Until.Before(time.Now()) {
			t.Fatalf("%s: again: %+v", name, answer)
		}
		sup := supervisorOf(t, s)
		if c.change != nil {
			c.change()
		}
		begun := time.Now()
		spec := RunSpec{ID: id, Dir: "/", Argv: []string{"sh", "-c", "echo cold; cat; exit 4"}, Warm: &Warm{c.key, []byte(c.input)}, Input: []byte(c.input), Watch: []string{tree + "/file"},
			Files: []File{{Path: tree + "/file", Data: []byte("three")}}}
		if answer := startRun(t, s, spec); !none(answer) {
			t.Errorf("%s: %+v", name, answer)
		}
		out, status := outputOf(t, s, id)
		head, code := "cold\n", 4
		if c.warm {
			head, code = "ready\n", 3
		}
		if out != head+c.input || status.State != RunExited || status.Code != code || status.Warm != c.warm || status.Started.Before(begun) {
			t.Errorf("%s: %.20q…, %d bytes, %+v", name, out, len(out), status)
		}
		if len(status.Watch) != 1 || status.Watch[0].Tail != "three" {
			t.Errorf("%s: %+v", name, status.Watch)
		}
		ended(t, name, sup.Main)
		ended(t, name, sup.PID)
		if _, err := os.Lstat(s.run(parkedRun)); err == nil {
			t.Errorf("%s: a parked run is left", name)
		}
		if answer := startRun(t, s, spec); !answer.Existed || answer.Failed() {
			t.Errorf("%s: once more: %+v", name, answer)
		}
	}
}

// A parked run ends when its time is up, when it is discarded, and when its command ends.
func TestParkedEnds(t *testing.T) {
	s := testStore(t)
	for name, c := range map[string]struct {
		wait time.Duration
		end  func(sup supervisorRecord)
	}{
		"time":      {300 * time.Millisecond, func(supervisorRecord) {}},
		"killed":    {time.Hour, func(sup supervisorRecord) { unix.Kill(sup.Main, unix.SIGKILL) }},
		"discarded": {time.Hour, func(supervisorRecord) { parkRun(t, s, Parking{}) }},
	} {
		if answer := parkRun(t, s, Parking{Key: "key", For: c.wait}); answer.Failed() || answer.Existed {
			t.Fatalf("%s: %+v", name, answer)
		}
		sup := supervisorOf(t, s)
		c.end(sup)
		ended(t, name, sup.Main)
		ended(t, name, sup.PID)
		if _, err := os.Lstat(s.run(parkedRun)); err == nil {
			t.Errorf("%s: a parked run is left", name)
		}
	}
	startRun(t, s, RunSpec{ID: "active", Dir: "/", Argv: []string{"sleep", "60"}})
	if answer := parkRun(t, s, Parking{Key: "key", For: time.Hour}); !strings.Contains(answer.Error, "active") {
		t.Errorf("beside an active run: %+v", answer)
	}
}

func TestFactsBound(t *testing.T) {
	dir := t.TempDir()
	facts := Facts{Tree: dir, Files: []string{dir + "/GEMINI.md"}}
	file := filepath.Join(dir, "GEMINI.md")
	if err := unix.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := facts.print(); err != nil {
		t.Errorf("a FIFO: %v", err)
	}
	os.Remove(file)
	if err := os.Symlink("/dev/zero", file); err != nil {
		t.Fatal(err)
	}
	if _, err := facts.print(); err != nil {
		t.Errorf("a device: %v", err)
	}
	os.Remove(file)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, maxContents+1); err != nil {
		t.Fatal(err)
	}
	if _, err := facts.print(); err == nil {
		t.Error("a large file: no error")
	}
	os.Remove(file)
	for i := range maxNames {
		if err := os.WriteFile(filepath.Join(dir, time.Duration(i).String()), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := facts.print(); err == nil {
		t.Error("many files: no error")
	}
}

func TestFacts(t *testing.T) {
	dir := t.TempDir()
	facts := Facts{Tree: dir, Skip: []string{"node_modules"}, Files: []string{dir + "/node_modules/settings"}}
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("node_modules/x", "")
	write("GEMINI.md", "one")
	write("a/file", "one")
	for _, c := range []struct {
		name, text string
		same       bool
	}{
		{"node_modules/y", "", true}, {"a/file", "two", false}, {"a/other", "", false}, {"GEMINI.md", "two", false},
		{"node_modules/settings/deep/x", "", false}, {"node_modules/settings/deep/x", "two", false},
		{"a/file", "the size counts", false},
	} {
		before, err := facts.print()
		if err != nil {
			t.Fatal(err)
		}
		write(c.name, c.text)
		after, err := facts.print()
		if err != nil || (after == before) != c.same {
			t.Errorf("%s %q: same %v, %v", c.name, c.text, after == before, err)
		}
	}
}
