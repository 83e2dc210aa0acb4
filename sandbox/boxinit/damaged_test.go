package boxinit

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A record of a parked run's supervisor that nobody can read does not keep tasks from starting.
func TestDamagedSupervisor(t *testing.T) {
	s := testStore(t)
	damage := func(text string) {
		t.Helper()
		if err := os.MkdirAll(s.run(parkedRun), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.file(parkedRun, "supervisor.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spec := RunSpec{ID: "one", Dir: "/", Argv: []string{"sh", "-c", "echo cold"}, Warm: &Warm{Key: "key"}}
	damage("") // by a power failure
	if answer := startRun(t, s, spec); !none(answer) {
		t.Errorf("an empty record: %+v", answer)
	}
	outputOf(t, s, "one")
	if got := belonging([]process{{pid: 7, ticks: 5}}, supervisorRecord{}, "", func(int) string { return "" }); len(got) > 0 {
		t.Errorf("a record without a mark means %+v", got) // "{}", by the agent
	}
	for _, end := range []string{"run", "park", "discard"} {
		if answer := parkRun(t, s, Parking{Key: "key", For: time.Hour}); answer.Failed() || answer.Existed {
			t.Fatalf("%s: %+v", end, answer)
		}
		sup := supervisorOf(t, s)
		damage("garbage") // by the agent
		var answer Reply
		switch spec.ID = end; end {
		case "run":
			answer = startRun(t, s, spec)
			if out, status := outputOf(t, s, end); out != "cold\n" || status.State != RunExited {
				t.Errorf("%q, %+v", out, status)
			}
		case "park":
			answer = parkRun(t, s, Parking{Key: "other", For: time.Hour})
		case "discard":
			answer = parkRun(t, s, Parking{})
		}
		if answer.Failed() || answer.Existed {
			t.Errorf("%s: %+v", end, answer)
		}
		ended(t, end, sup.Main)
		ended(t, end, sup.PID)
		if answer := parkRun(t, s, Parking{}); answer.Failed() || answer.Existed {
			t.Errorf("%s: %+v", end, answer)
		}
	}
}

// The caller dies after the command was executed, and before it hears of that: the run has a supervisor all the same.
func TestCallerDies(t *testing.T) {
	s := testStore(t)
	spec := RunSpec{ID: "r", Dir: "/", Argv: []string{"sh", "-c", "echo out; exit 3"}}
	if err := os.MkdirAll(s.run("r"), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := lockFile(s.file("r", "lock"), lockTime)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file("r", "out"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeJSON(s.file("r", "begin.json"), beginOf(spec)); err != nil {
		t.Fatal(err)
	}
	order, err := json.Marshal(Parking{Run: spec})
	if err != nil {
		t.Fatal(err)
	}
	readyOut, ready, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "supervise", "r")
	cmd.ExtraFiles = []*os.File{lock, ready}
	cmd.Stdin = bytes.NewReader(order)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{lock, ready, readyOut} {
		f.Close()
	}
	if out, status := outputOf(t, s, "r"); out != "out\n" || status.State != RunExited || status.Code != 3 {
		t.Errorf("%q, %+v", out, status)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("its supervisor: %v", err)
	}
}
