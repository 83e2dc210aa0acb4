package boxinit

import (
	"os"
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
	if answer := startRun(t, s, spec); answer != (Answer{}) {
		t.Errorf("an empty record: %+v", answer)
	}
	call(t, s, "", "tail", "one", "0")
	for _, end := range []string{"run", "park", "discard"} {
		if answer := parkRun(t, s, Parking{Key: "key", For: time.Hour}); answer != (Answer{}) {
			t.Fatalf("%s: %+v", end, answer)
		}
		sup := supervisorOf(t, s)
		damage("garbage") // by the agent
		var answer Answer
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
		if answer != (Answer{}) {
			t.Errorf("%s: %+v", end, answer)
		}
		ended(t, end, sup.Main)
		ended(t, end, sup.PID)
		if answer := parkRun(t, s, Parking{}); answer != (Answer{}) {
			t.Errorf("%s: %+v", end, answer)
		}
	}
}
