package boxinit

import (
	"strings"
	"testing"
)

// A supervisor that gets no threads has executed nothing: the caller learns why, and the run can be started again.
func TestSupervisorWithoutThreads(t *testing.T) {
	s := testStore(t)
	spec := RunSpec{ID: "r", Dir: "/", Argv: []string{"true"}}
	const said = "runtime: failed to create new OS thread (have 2 already; errno=11)"
	_, err := s.start(spec, []string{"/bin/sh", "-c", "echo '" + said + "' >&2; exit 2"})
	if err == nil || !strings.Contains(err.Error(), said) {
		t.Fatalf("%v, want what it said", err)
	}
	if answer := startRun(t, s, spec); !none(answer) {
		t.Errorf("the second start: %+v", answer)
	}
}
