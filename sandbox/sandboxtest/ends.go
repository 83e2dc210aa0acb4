package sandboxtest

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"matrix-tui/sandbox"
)

// interrupted: a run that ends with its container is interrupted, and its record goes where it belongs. What was parked
// ends, too, and what is left of it does not count.
func interrupted(t *testing.T, s *Site) {
	spec := s.newRoom(t)
	c := s.ensure(t, spec)
	start(t, c, "r", "echo first; echo oops >&2; exec sleep 1000")
	start(t, c, "ended", "exit 5")
	follow(t, c, "ended")
	Sh(t, c, "cd /var/lib/boxinit/runs && mkdir parked.run && printf x | tee parked.run/supervisor.json >parked.run/lock")
	result := make(chan sandbox.RunStatus, 1)
	go func() {
		status, err := c.FollowRun(t.Context(), "r", 0, io.Discard)
		if err != nil {
			t.Error(err)
		}
		result <- status
	}()
	for range 3 {
		Sh(t, c, "true") // by now it is followed
	}
	s.stop(t, c)
	if status := <-result; status.State != sandbox.RunInterrupted {
		t.Errorf("followed while the container went down: %+v", status)
	}
	c = s.ensure(t, spec)
	out, status := follow(t, c, "r")
	if out != "first\n" || status.State != sandbox.RunInterrupted || status.Stderr != "oops\n" {
		t.Errorf("after the start: %q, %+v", out, status)
	}
	if existed, err := c.StartRun(t.Context(), sandbox.RunSpec{ID: "r", Argv: []string{"true"}}); err != nil || !existed {
		t.Errorf("started again: %v, %v", existed, err)
	}
	if _, status := follow(t, c, "ended"); status.State != sandbox.RunExited || status.Code != 5 {
		t.Errorf("ended before: %+v", status)
	}
	if got := Sh(t, c, "ls /var/lib/boxinit/runs"); strings.Contains(got, "parked") {
		t.Errorf("left: %q", got)
	}
	s.remove(t, c, "")
	want := sandbox.RunInterrupted
	if s.Layer {
		want = sandbox.RunNone
		if _, status := follow(t, c, "r"); status.State != want {
			t.Errorf("in a container that is gone: %+v", status)
		}
	}
	if _, status := follow(t, s.ensure(t, spec), "r"); status.State != want {
		t.Errorf("in a new container: %+v", status)
	}
}

// supervisorKilled: without its supervisor, a run is interrupted, and its processes can be stopped.
func supervisorKilled(t *testing.T, _ *Site, c *sandbox.Container) {
	start(t, c, "alone", "sleep 1001 & setsid sleep 1002 & sleep 1003")
	Sh(t, c, "kill -9 $(cat /var/lib/boxinit/runs/alone/supervisor.json | tr -dc '0-9,' | cut -d, -f1)")
	if _, status := follow(t, c, "alone"); status.State != sandbox.RunInterrupted {
		t.Errorf("%+v", status)
	}
	if got := sleepers(t, c); len(got) != 3 {
		t.Fatalf("sleeping: %q", got)
	}
	if err := c.StopRun(t.Context(), "alone"); err != nil {
		t.Fatal(err)
	}
	if got := sleepers(t, c); len(got) != 0 {
		t.Errorf("still sleeping: %q", got)
	}
}

// parked: a run that waits for its input is continued with it, or is discarded.
func parked(t *testing.T, s *Site, c *sandbox.Container) {
	park := func() {
		t.Helper()
		until, err := c.ParkRun(t.Context(), parking("touch /tmp/ready; cat; exit 3"))
		if err != nil || time.Until(until) < time.Minute {
			t.Fatal(until, err)
		}
		Until(t, "it is ready", func() bool { return Sh(t, c, "rm /tmp/ready 2>/dev/null && echo yes || true") == "yes" })
	}
	for id, warm := range map[string]bool{"warm": true, "cold": false} {
		park()
		if !warm {
			if err := s.Rooms.Unpark(t.Context(), c.Room); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		status, err := c.Run(t.Context(), continuing(id), &out, func(bool) {})
		if want := map[bool]string{true: "hello", false: "cold\nhello"}[warm]; err != nil || status.Warm != warm || out.String() != want || (status.Code == 3) != warm {
			t.Errorf("%s: %q, %+v, %v", id, out.String(), status, err)
		}
	}
}

// parking is a script that is started before it is needed.
func parking(script string) sandbox.Parking {
	run := sandbox.RunSpec{ID: "parked-1", Dir: "/", Argv: []string{"sh", "-c", script}}
	return sandbox.Parking{Run: run, Key: "key", For: time.Hour, Facts: sandbox.Facts{Tree: "/workspace"}}
}

// continuing is a run that continues it.
func continuing(id string) sandbox.RunSpec {
	return sandbox.RunSpec{ID: id, Dir: "/", Argv: []string{"sh", "-c", "echo cold; cat"}, Input: []byte("hello"),
		Warm: &sandbox.Warm{Key: "key", Input: []byte("hello")}}
}

// outOfMemory: the status of a command killed because memory ran out says so, and the next one runs.
func outOfMemory(t *testing.T, s *Site, c *sandbox.Container) {
	start(t, c, "greedy", "exec dd if=/dev/zero of=/dev/null bs=200M count=1")
	_, status := follow(t, c, "greedy")
	if s.OwnKernel {
		if status.State != sandbox.RunInterrupted {
			t.Errorf("%+v", status)
		}
	} else if status.Code != 137 || status.Signal != "killed" || !status.OOM {
		t.Errorf("%+v", status)
	}
	start(t, c, "modest", "true")
	if _, status := follow(t, c, "modest"); status.OOM {
		t.Errorf("a run after it: %+v", status)
	}
}

// parkedOutOfMemory: if memory runs out, the kernel kills what is parked, nothing else, and the next run starts from the beginning.
func parkedOutOfMemory(t *testing.T, s *Site, c *sandbox.Container) {
	if !s.ParkedFirst {
		t.Skip("what is parked is not killed first: see Site")
	}
	const hold = `held=$(head -c 25000000 /dev/zero | tr '\0' x); touch /tmp/holds; cat; exit 3`
	if _, err := c.ParkRun(t.Context(), parking(hold)); err != nil {
		t.Fatal(err)
	}
	Until(t, "it holds the memory", func() bool { return Sh(t, c, "ls /tmp/holds 2>/dev/null || true") != "" })
	if got := Sh(t, c, "dd if=/dev/zero of=/dev/null bs=50M count=1 2>/dev/null && echo done"); got != "done" {
		t.Errorf("a command that needs the memory: %q", got)
	}
	var out strings.Builder
	status, err := c.Run(t.Context(), continuing("next"), &out, func(bool) {})
	if err != nil || status.Warm || status.OOM || out.String() != "cold\nhello" {
		t.Errorf("%q, %+v, %v", out.String(), status, err)
	}
}

// sleepers returns the arguments of the sleep commands in a container.
func sleepers(t testing.TB, c *sandbox.Container) []string {
	t.Helper()
	lines := Sh(t, c, `for f in /proc/[0-9]*/cmdline; do tr '\0' ' ' < $f 2>/dev/null; echo; done | sed -n 's/^sleep \([0-9][0-9]*\) $/\1/p' | sort`)
	return strings.Fields(lines)
}

// stopped: everything that a run has started ends with it, and nothing older.
func stopped(t *testing.T, _ *Site, c *sandbox.Container) {
	// Older processes: a daemon of a run that has ended, and one of a run that is still active.
	start(t, c, "older", "setsid sleep 2001 & true")
	start(t, c, "beside", "env -i setsid sleep 2002 & sleep 2003")
	if _, status := follow(t, c, "older"); status.State != sandbox.RunExited {
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
		"grows":           {"trap '' TERM; while true; do setsid sleep 1000 & sleep 0.02; done", either},
		"ended-already":   {"env -i setsid sleep 1000 & exit 0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, c, name, run.script)
			Until(t, "something sleeps", func() bool { return len(sleepers(t, c)) > 3 })
			if err := c.StopRun(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(sleepers(t, c), " "); got != "2001 2002 2003" {
				t.Errorf("sleeping after the stop: %s", got)
			}
			_, status := follow(t, c, name)
			if status.State != sandbox.RunExited || run.code != either && status.Code != run.code {
				t.Errorf("%+v, want code %d", status, run.code)
			}
		})
	}
	_, status := follow(t, c, "plain")
	if status.Signal != "terminated" {
		t.Errorf("stopped: %+v", status)
	}
	if status, err := c.RunStatus(t.Context(), "beside"); err != nil || status.State != sandbox.RunRunning {
		t.Errorf("the other run: %+v, %v", status, err)
	}
	if left, err := c.Left(t.Context()); err != nil || len(left) != 1 || left[0].Command != "sleep 2001" {
		t.Errorf("left: %+v, %v", left, err)
	}
	if err := errors.Join(c.EndLeft(t.Context()), c.StopRun(t.Context(), "beside")); err != nil {
		t.Error(err)
	}
	if got := sleepers(t, c); len(got) != 0 {
		t.Errorf("still sleeping: %q", got)
	}
}

// noZombies: orphans are reaped, whether they belong to a run or not: no zombie is left.
func noZombies(t *testing.T, _ *Site, c *sandbox.Container) {
	count := func() string { return Sh(t, c, "ls -d /proc/[0-9]* | wc -l") }
	start(t, c, "orphans", "until [ -e go ]; do sleep 0.02; done; for i in 1 2 3; do (setsid sh -c 'echo >> ended' &); done; exec sleep 1000")
	Sh(t, c, "touch go")
	Until(t, "the run's orphans have ended", func() bool { return Sh(t, c, "cat ended | wc -l") == "3" })
	var before string
	Until(t, "the run's orphans are reaped", func() bool {
		before = count()
		return before == "7" // PID 1, supervisor, sleep, connect, sh, ls, wc
	})
	Sh(t, c, "for i in 1 2 3; do (setsid sh -c 'echo >> ended' &); done")
	Until(t, "the other orphans have ended", func() bool { return Sh(t, c, "cat ended | wc -l") == "6" })
	Until(t, "the other orphans are reaped", func() bool { return count() == before })
	if err := c.StopRun(t.Context(), "orphans"); err != nil {
		t.Error(err)
	}
}

// restarted: everything in a container ends, and it starts again, with its files.
func restarted(t *testing.T, _ *Site, c *sandbox.Container) {
	Sh(t, c, "echo kept >/workspace/file")
	start(t, c, "before", "exec sleep 1000")
	if err := c.Restart(t.Context(), errors.New("a test")); err != nil {
		t.Fatal(err)
	}
	if status, err := c.RunStatus(t.Context(), "before"); err != nil || status.State != sandbox.RunInterrupted {
		t.Errorf("%+v, %v", status, err)
	}
	if got := Sh(t, c, "cat /workspace/file"); got != "kept" || len(sleepers(t, c)) != 0 {
		t.Errorf("the file has %q; still sleeping: %q", got, sleepers(t, c))
	}
}
