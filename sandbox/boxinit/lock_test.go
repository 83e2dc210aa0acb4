package boxinit

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process of the container that keeps a lock keeps runs from starting, and nobody waiting for ever.
func TestLocked(t *testing.T) {
	s := testStore(t)
	lockTime = 300 * time.Millisecond
	t.Cleanup(func() { lockTime = 30 * time.Second })
	other, err := s.gate()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	spec := RunSpec{ID: "r", Dir: "/", Argv: []string{"true"}}
	if answer := startRun(t, s, spec); !strings.Contains(answer.Error, Locked) {
		t.Errorf("run: %+v", answer)
	}
	if answer := parkRun(t, s, Parking{Key: "key", For: time.Hour}); !strings.Contains(answer.Error, Locked) {
		t.Errorf("park: %+v", answer)
	}
	other.Close()
	if answer := startRun(t, s, spec); !none(answer) {
		t.Errorf("afterwards: %+v", answer)
	}
}

// A pipe in the place of a record does not keep whoever reads it.
func TestPipesForRecords(t *testing.T) {
	s := testStore(t)
	startRun(t, s, RunSpec{ID: "old", Dir: "/", Argv: []string{"true"}})
	outputOf(t, s, "old")
	for _, name := range []string{"lock", "begin.json", "end.json", "supervisor.json"} {
		os.Remove(s.file("old", name))
		if err := unix.Mkfifo(s.file("old", name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if answer := startRun(t, s, RunSpec{ID: "new", Dir: "/", Argv: []string{"true"}, Forget: []string{"old"}}); !none(answer) {
		t.Errorf("%+v", answer)
	}
}
