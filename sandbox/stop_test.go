package sandbox

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/containers/podman/v5/pkg/bindings/containers"
)

// sleepers returns the arguments of the sleep commands in the container.
func sleepers(t testing.TB, container *Container) []string {
	t.Helper()
	lines := sh(t, container, `for f in /proc/[0-9]*/cmdline; do tr '\0' ' ' < $f 2>/dev/null; echo; done | sed -n 's/^sleep \([0-9][0-9]*\) $/\1/p' | sort`)
	return strings.Fields(lines)
}

// A run that has used up the container's processes cannot take down PID 1 or its own supervisor, and can be stopped
// although nothing else can be executed.
func TestStopRunWithoutProcesses(t *testing.T) {
	container, spec := withoutProcesses(t)
	if again := ensure(t, spec); again.Started {
		t.Error("PID 1 had ended")
	}
	if err := container.StopRun(t.Context(), "bomb"); err != nil {
		t.Fatal(err)
	}
	until(t, "what has ended is reaped", func() bool { return counted(t, container) < spec.PIDs/2 })
	if got := sleepers(t, container); len(got) != 0 {
		t.Errorf("%d still sleep", len(got))
	}
	if status, err := container.RunStatus(t.Context(), "bomb"); err != nil || status.State == RunRunning {
		t.Errorf("%+v, %v", status, err)
	}
}

// A run that cannot start because processes are left over from others has the container restarted, and starts then.
func TestRunWithoutProcesses(t *testing.T) {
	container, _ := withoutProcesses(t)
	spec := RunSpec{ID: "next", Dir: "/", Argv: []string{"echo", "hello"}}
	if _, err := container.Run(t.Context(), spec, io.Discard, func(bool) { t.Error("it has begun") }); !errors.Is(err, ErrExhausted) {
		t.Fatal(err)
	}
	var out strings.Builder
	if _, err := container.Run(t.Context(), spec, &out, func(bool) {}); err != nil || out.String() != "hello\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if got := sleepers(t, container); len(got) != 0 {
		t.Errorf("%d still sleep", len(got))
	}
}

// withoutProcesses returns a container in which a run has used up all processes.
func withoutProcesses(t *testing.T) (*Container, Spec) {
	t.Helper()
	spec := testSpec(t)
	spec.PIDs = 64
	if !hostOf(t).can("pids") {
		skipHost(t, "this host has no pids controller")
	}
	container := ensure(t, spec)
	// A shell would end at the first fork that fails, and leave what a command had occupied just then.
	start(t, container, "bomb", `trap '' TERM; exec awk 'BEGIN { while (1) system("sleep 1000 &") }'`)
	failed := 0
	until(t, "nothing more can be executed", func() bool {
		// What the last attempt has occupied is taken first: on a busy host, that takes longer than another attempt.
		if counted(t, container) < spec.PIDs-1 {
			return false
		}
		if _, err := container.Exec(t.Context(), Cmd{Argv: []string{"true"}}); err == nil {
			failed = 0
			return false
		}
		failed++
		return failed == 3
	})
	return container, spec
}

// counted returns how many processes and threads podman counts in the container.
func counted(t *testing.T, container *Container) int64 {
	t.Helper()
	reports, err := containers.Stats(testPodman.with(t.Context()), []string{container.ID}, new(containers.StatsOptions).WithStream(false))
	if err != nil {
		t.Fatal(err)
	}
	report := <-reports
	if report.Error != nil || len(report.Stats) != 1 {
		t.Fatalf("statistics of the container: %+v", report)
	}
	return int64(report.Stats[0].PIDs)
}

// A stopped container has ended by itself: podman did not have to kill it.
func TestStopEndsInit(t *testing.T) {
	container := testContainer(t)
	start(t, container, "r", "exec sleep 1000")
	if err := testRooms.Stop(t.Context(), container.Name, container.Room); err != nil {
		t.Fatal(err)
	}
	if data, err := containers.Inspect(testPodman.with(t.Context()), container.ID, nil); err != nil || data.State.ExitCode == 137 {
		t.Errorf("it was killed, or %v", err)
	}
}
