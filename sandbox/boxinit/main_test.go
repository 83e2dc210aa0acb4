package boxinit

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"
)

// The test binary is also boxinit, so that supervisors are real processes.
func TestMain(m *testing.M) {
	if dir := os.Getenv("BOXINIT_TEST_DIR"); dir != "" {
		p := Program{Dir: dir, Self: []string{"/proc/self/exe"}, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
		os.Exit(p.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// testStore returns a folder of runs. Runs that are still active after the test are stopped.
func testStore(t *testing.T) store {
	t.Helper()
	s := store{t.TempDir()}
	t.Setenv("BOXINIT_TEST_DIR", s.dir)
	t.Cleanup(func() {
		entries, _ := os.ReadDir(s.runs())
		for _, e := range entries {
			stop(s, e.Name())
		}
	})
	return s
}

// call executes a command in this process.
func call(t *testing.T, s store, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	go func() {
		w.WriteString(stdin)
		w.Close()
	}()
	var out, errs bytes.Buffer
	p := Program{Dir: s.dir, Self: []string{"/proc/self/exe"}, Stdin: in, Stdout: &out, Stderr: &errs}
	code = p.Main(args)
	return out.String(), errs.String(), code
}

func startRun(t *testing.T, s store, spec RunSpec) Answer {
	t.Helper()
	request, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := call(t, s, string(request), "run")
	var answer Answer
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil || code != 0 {
		t.Fatalf("run: code %d, %q, %q", code, stdout, stderr)
	}
	return answer
}

func TestCommands(t *testing.T) {
	s := testStore(t)
	spec := RunSpec{ID: "r", Dir: "/", Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 4"}}
	if answer := startRun(t, s, spec); answer != (Answer{}) {
		t.Fatalf("%+v", answer)
	}
	stdout, stderr, code := call(t, s, "", "tail", "r", "0")
	var status RunStatus
	if err := json.Unmarshal([]byte(stderr), &status); err != nil || code != 0 || stdout != "out\n" {
		t.Fatalf("tail: code %d, %q, %q", code, stdout, stderr)
	}
	if status.State != RunExited || status.Code != 4 || status.Stderr != "err\n" || status.Size != 4 {
		t.Errorf("%+v", status)
	}
	if answer := startRun(t, s, spec); !answer.Existed {
		t.Errorf("again: %+v", answer)
	}
	for _, c := range []struct {
		stdin string
		args  string
		code  int
		out   string
	}{
		{"", "status unknown", 0, `"State":"none"`},
		{"", "status r", 0, `"State":"exited"`},
		{"", "status a/b", exitError, ""},
		{"", "tail r -1", exitUsage, ""},
		{"", "tail r", exitUsage, ""},
		{"", "supervise", exitUsage, ""},
		{"", "nonsense", exitUsage, ""},
		{"", "remove r", 0, ""},
		{"", "remove r", 0, ""},
		{"", "stop r", 0, ""},
		{"not JSON", "run", exitError, ""},
		{"{}", "run", 0, `"Error":"run ID`},
		{"", "attend now", exitUsage, ""},
		{`{"ID":"r","Argv":["true"]}`, "run -new", exitUsage, ""},
		{"short", "write " + s.dir + "/file 9", exitError, ""},
		{"", "read " + s.dir + "/file 9", exitNotFound, ""},
		{"right", "write " + s.dir + "/file 5", 0, ""},
		{"other", "write -new " + s.dir + "/file 5", 0, ""},
		{"", "read " + s.dir + "/file 3", 0, "rig"},
		{"", "read " + s.dir + "/file x", exitUsage, ""},
	} {
		stdout, stderr, code := call(t, s, c.stdin, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stdout, c.out) {
			t.Errorf("%s: code %d, want %d: %q, %q", c.args, code, c.code, stdout, stderr)
		}
	}
}

// A start that was cut off before it recorded the beginning leaves no run.
func TestStartAfterCutOff(t *testing.T) {
	s := testStore(t)
	if err := os.MkdirAll(s.run("r"), 0o700); err != nil {
		t.Fatal(err)
	}
	if status, err := s.status("r"); err != nil || status.State != RunNone {
		t.Errorf("%+v, %v", status, err)
	}
	if answer := startRun(t, s, RunSpec{ID: "r", Dir: "/", Argv: []string{"true"}}); answer != (Answer{}) {
		t.Errorf("%+v", answer)
	}
}

// A run whose records are damaged by a power failure is interrupted, not an error.
func TestTornRecords(t *testing.T) {
	s := testStore(t)
	startRun(t, s, RunSpec{ID: "r", Dir: "/", Argv: []string{"true"}})
	call(t, s, "", "tail", "r", "0")
	if err := os.WriteFile(s.file("r", "end.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var got RunStatus
	for range 100 { // the supervisor's lock ends with the supervisor
		if got, _ = s.status("r"); got.State != RunRunning {
			break
		}
	}
	_, stderr, code := call(t, s, "", "tail", "r", "0")
	if code != 0 || !strings.Contains(stderr, `"State":"interrupted"`) {
		t.Errorf("tail: code %d, %q; status %+v", code, stderr, got)
	}
}

func TestPrune(t *testing.T) {
	s := testStore(t)
	ids := []string{"a", "b", "c", "d", "e", "f", "g", "h"} // a is the oldest
	startRun(t, s, RunSpec{ID: "0", Dir: "/", Argv: []string{"sleep", "1000"}})
	for _, id := range ids {
		startRun(t, s, RunSpec{ID: id, Dir: "/", Argv: []string{"printf", "1234567890"}})
		call(t, s, "", "tail", id, "0")
		for t.Context().Err() == nil && held(s.file(id, "lock")) { // until its supervisor has ended
			runtime.Gosched()
		}
	}
	left := func() string {
		var text string
		entries, _ := os.ReadDir(s.runs())
		for _, e := range entries {
			text += e.Name()
		}
		return text
	}
	s.prune(7, 1<<20)
	if got := left(); got != "0bcdefgh" {
		t.Errorf("by number: %s", got)
	}
	s.prune(100, 30)
	if got := left(); got != "0defgh" { // the newest runs are kept whatever their size
		t.Errorf("by size: %s", got)
	}
}
