package boxinit

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"
)

// The test binary is also boxinit, so that supervisors are real processes.
func TestMain(m *testing.M) {
	if name := os.Getenv("BOXINIT_TEST_CALL"); name != "" {
		os.Exit(makeCalls(name))
	}
	if dir := os.Getenv("BOXINIT_TEST_DIR"); dir != "" {
		p := Program{Dir: dir, Gateway: os.Getenv("BOXINIT_TEST_GATEWAY"), Self: []string{"/proc/self/exe"}, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
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

func startRun(t *testing.T, s store, spec RunSpec) Reply {
	t.Helper()
	_, reply := ask(t, s, Request{Op: OpRun, Run: &spec}, "")
	return reply
}

func outputOf(t *testing.T, s store, id string) (string, RunStatus) {
	t.Helper()
	out, reply := ask(t, s, Request{Op: OpFollow, ID: id}, "")
	if reply.Error != "" || reply.Status == nil {
		t.Fatalf("%+v", reply)
	}
	return out, *reply.Status
}

// none reports whether a reply says that a run was started, and nothing else.
func none(r Reply) bool { return !r.Failed() && !r.Existed }

func TestRuns(t *testing.T) {
	s := testStore(t)
	spec := RunSpec{ID: "r", Dir: "/", Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 4"}}
	a := request(t, s, Request{Op: OpRun, Run: &spec, Follow: true})
	if first := a.reply(); !none(first) {
		t.Fatalf("%+v", first)
	}
	status := a.reply().Status
	if status == nil || a.out.String() != "out\n" || status.State != RunExited || status.Code != 4 || status.Stderr != "err\n" || status.Size != 4 {
		t.Errorf("%q, %+v", a.out.String(), status)
	}
	if answer := startRun(t, s, spec); !answer.Existed {
		t.Errorf("again: %+v", answer)
	}
	for id, want := range map[string]RunState{"unknown": RunNone, "r": RunExited} {
		if _, reply := ask(t, s, Request{Op: OpStatus, ID: id}, ""); reply.Status == nil || reply.Status.State != want {
			t.Errorf("%s: %+v", id, reply)
		}
	}
	for _, op := range []Op{OpStop, OpRemove, OpRemove} {
		if _, reply := ask(t, s, Request{Op: op, ID: "r"}, ""); reply.Error != "" {
			t.Errorf("%s: %+v", op, reply)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range []string{"nonsense", "supervise", "operate now", "supervise a/b"} {
		var out bytes.Buffer
		p := Program{Dir: t.TempDir(), Self: []string{"/proc/self/exe"}, Stdout: &out, Stderr: &out}
		if code := p.Main(strings.Fields(args)); code == 0 || out.Len() == 0 {
			t.Errorf("%s: code %d, %q", args, code, out.String())
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
	if answer := startRun(t, s, RunSpec{ID: "r", Dir: "/", Argv: []string{"true"}}); !none(answer) {
		t.Errorf("%+v", answer)
	}
}

// A run whose records are damaged by a power failure is interrupted, not an error.
func TestTornRecords(t *testing.T) {
	s := testStore(t)
	startRun(t, s, RunSpec{ID: "r", Dir: "/", Argv: []string{"true"}})
	outputOf(t, s, "r")
	if err := os.WriteFile(s.file("r", "end.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var got RunStatus
	for range 100 { // the supervisor's lock ends with the supervisor
		if got, _ = s.status("r"); got.State != RunRunning {
			break
		}
	}
	if _, status := outputOf(t, s, "r"); status.State != RunInterrupted {
		t.Errorf("%+v; status %+v", status, got)
	}
}

func TestPrune(t *testing.T) {
	s := testStore(t)
	ids := []string{"a", "b", "c", "d", "e", "f", "g", "h"} // a is the oldest
	startRun(t, s, RunSpec{ID: "0", Dir: "/", Argv: []string{"sleep", "1000"}})
	for _, id := range ids {
		startRun(t, s, RunSpec{ID: id, Dir: "/", Argv: []string{"printf", "1234567890"}})
		outputOf(t, s, id)
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
