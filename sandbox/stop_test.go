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

func TestStopRun(t *testing.T) {
	spec := testSpec(t)
	spec.PIDs = 4096 // more than the one that grows can start before a slow host stops it
	container := ensure(t, spec)
	// Older processes: a daemon of a run that has ended, and one of a run that is still active.
	start(t, container, "older", "setsid sleep 2001 & true")
	start(t, container, "beside", "env -i setsid sleep 2002 & sleep 2003")
	if _, status := follow(t, container, "older"); status.State != RunExited {
		t.Fatalf("a daemon in the background keeps the run running: %+v", status)
	}
	const asked, killed, either = 143, 137, -1 // either: its shell may end itself, when it can start nothing more
	for name, run := range map[string]struct {
		script string
		code   int
	}{
		"plain":           {"sleep 1000", asked},
		"background":      {"sleep 1000 & sleep 1000 & wait", asked},
		"session":         {"setsid sleep 1000 & sleep 1000", asked},
		"double-fork":     {"(setsid sh -c 'sleep 1000 & sleep 1000 & exit' &) ; sleep 1000", asked},
		"no-environment":  {"env -i setsid sh -c 'sleep 1000 & env -i setsid sleep 1000 & exit 0' & sleep 1000", asked},
		"ignores-sigterm": {"trap '' TERM; sh -c 'trap \"\" TERM; sleep 1000; sleep 1000' & sleep 1000; sleep 1000; sleep 1000", killed},
		"stopped":         {"sleep 1000 & kill -STOP $!; sleep 1000", asked},
		"grows":           {"trap '' TERM; while true; do setsid sleep 1000 & usleep 20000; done", either},
		"ended-already":   {"env -i setsid sleep 1000 & exit 0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, container, name, run.script)
			until(t, "something sleeps", func() bool { return len(sleepers(t, container)) > 3 })
			if err := container.StopRun(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(sleepers(t, container), " "); got != "2001 2002 2003" {
				t.Errorf("sleeping after the stop: %s", got)
			}
			_, status := follow(t, container, name)
			if status.State != RunExited || run.code != either && status.Code != run.code {
				t.Errorf("%+v, want code %d", status, run.code)
			}
		})
	}
	_, status := follow(t, container, "plain")
	if status.Signal != "terminated" {
		t.Errorf("stopped: %+v", status)
	}
	if status, err := container.RunStatus(t.Context(), "beside"); err != nil || status.State != RunRunning {
		t.Errorf("the other run: %+v, %v", status, err)
	}
}

// A stop also works in a paused container.
func TestStopRunPaused(t *testing.T) {
	container := testContainer(t)
	start(t, container, "r", "exec sleep 1000")
	pause(t, container)
	if err := container.StopRun(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if got := sleepers(t, container); len(got) != 0 {
		t.Errorf("still sleeping: %q", got)
	}
}

// Orphans are reaped, whether they belong to a run or not: no zombie is left.
func TestNoZombies(t *testing.T) {
	container := testContainer(t)
	count := func() string { return sh(t, container, "ls -d /proc/[0-9]* | wc -l") }
	start(t, container, "r", "until [ -e go ]; do usleep 20000; done; for i in 1 2 3; do (setsid sh -c 'echo >> ended' &); done; exec sleep 1000")
	sh(t, container, "touch go")
	until(t, "the run's orphans have ended", func() bool { return sh(t, container, "cat ended | wc -l") == "3" })
	var before string
	until(t, "the run's orphans are reaped", func() bool {
		before = count()
		return before == "7" // PID 1, supervisor, sleep, connect, sh, ls, wc
	})
	sh(t, container, "for i in 1 2 3; do (setsid sh -c 'echo >> ended' &); done")
	until(t, "the other orphans have ended", func() bool { return sh(t, container, "cat ended | wc -l") == "6" })
	until(t, "the other orphans are reaped", func() bool { return count() == before })
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

// What was parked ends with the container, and what is left of it does not count.
func TestParkedEndsWithContainer(t *testing.T) {
	spec := testSpec(t)
	container := ensure(t, spec)
	sh(t, container, "mkdir -p /var/lib/boxinit/runs/parked.run && printf x | tee /var/lib/boxinit/runs/parked.run/supervisor.json >/var/lib/boxinit/runs/parked.run/lock")
	if err := testRooms.Stop(t.Context(), container.Name, container.Room); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, ensure(t, spec), "ls /var/lib/boxinit/runs"); got != "" {
		t.Errorf("left: %q", got)
	}
}
