package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/containers/podman/v5/pkg/bindings/containers"
)

// A run that ends with its container is interrupted; in a recreated container it never existed.
func TestRunInterrupted(t *testing.T) {
	spec := testSpec(t)
	container := ensure(t, spec)
	start(t, container, "r", "echo first; echo oops >&2; exec sleep 1000")
	start(t, container, "ended", "exit 5")
	follow(t, container, "ended")
	result := make(chan RunStatus, 1)
	go func() {
		status, err := container.FollowRun(t.Context(), "r", 0, io.Discard)
		if err != nil {
			t.Error(err)
		}
		result <- status
	}()
	for range 3 {
		sh(t, container, "true") // by now it is followed
	}
	if err := testRooms.Stop(t.Context(), container.Name, container.Room); err != nil {
		t.Fatal(err)
	}
	if data, err := containers.Inspect(testPodman.with(t.Context()), container.ID, nil); err != nil {
		t.Error(err)
	} else if data.State.ExitCode == 137 {
		t.Error("PID 1 did not end on SIGTERM: podman had to kill it")
	}
	if status := <-result; status.State != RunInterrupted {
		t.Errorf("followed while the container went down: %+v", status)
	}
	container = ensure(t, spec)
	out, status := follow(t, container, "r")
	if out != "first\n" || status.State != RunInterrupted || status.Stderr != "oops\n" {
		t.Errorf("after the start: %q, %+v", out, status)
	}
	if existed, err := container.StartRun(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}); err != nil || !existed {
		t.Errorf("started again: %v, %v", existed, err)
	}
	if _, status := follow(t, container, "ended"); status.State != RunExited || status.Code != 5 {
		t.Errorf("ended before: %+v", status)
	}
	if err := testRooms.Remove(t.Context(), container.Name, container.Room, ""); err != nil {
		t.Fatal(err)
	}
	if _, status := follow(t, container, "r"); status.State != RunNone {
		t.Errorf("in a container that is gone: %+v", status)
	}
	if _, status := follow(t, ensure(t, spec), "r"); status.State != RunNone {
		t.Errorf("in a recreated container: %+v", status)
	}
}

// If its supervisor is killed, a run is interrupted, and its processes can be stopped.
func TestRunWithoutSupervisor(t *testing.T) {
	container := testContainer(t)
	start(t, container, "r", "sleep 1001 & setsid sleep 1002 & sleep 1003")
	sh(t, container, "kill -9 $(cat /var/lib/boxinit/runs/r/supervisor.json | tr -dc '0-9,' | cut -d, -f1)")
	if _, status := follow(t, container, "r"); status.State != RunInterrupted {
		t.Errorf("%+v", status)
	}
	if got := sleepers(t, container); len(got) != 3 {
		t.Fatalf("sleeping: %q", got)
	}
	if err := container.StopRun(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if got := sleepers(t, container); len(got) != 0 {
		t.Errorf("still sleeping: %q", got)
	}
}

// A follower waits for a paused container.
func TestFollowPaused(t *testing.T) {
	container := testContainer(t)
	start(t, container, "r", "echo hello")
	pause(t, container)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // it tries more than once
	defer cancel()
	if status, err := container.FollowRun(ctx, "r", 0, io.Discard); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("paused: %+v, %v", status, err)
	}
	if err := containers.Unpause(testPodman.with(t.Context()), container.ID, nil); err != nil {
		t.Fatal(err)
	}
	if out, status := follow(t, container, "r"); out != "hello\n" || status.State != RunExited {
		t.Errorf("%q, %+v", out, status)
	}
}

// An error of the writer ends FollowRun.
func TestFollowWriterFails(t *testing.T) {
	container := testContainer(t)
	start(t, container, "r", "echo hello; exec sleep 1000")
	full := errors.New("full")
	if _, err := container.FollowRun(t.Context(), "r", 0, failing{full}); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// The status of a command killed because memory ran out says so.
func TestRunOutOfMemory(t *testing.T) {
	if !hostOf(t).can("memory") {
		skipHost(t, "this host has no memory controller")
	}
	spec := testSpec(t)
	spec.Memory = 64 << 20
	container := ensure(t, spec)
	start(t, container, "greedy", "exec dd if=/dev/zero of=/dev/null bs=200M count=1")
	_, status := follow(t, container, "greedy")
	if status.Code != 137 || status.Signal != "killed" || !status.OOM {
		t.Errorf("%+v", status)
	}
	start(t, container, "modest", "true")
	if _, status := follow(t, container, "modest"); status.OOM {
		t.Errorf("a run after it: %+v", status)
	}
}

// If memory runs out, the kernel kills what is parked, nothing else, and the next run starts from the beginning.
func TestParkedOutOfMemory(t *testing.T) {
	if !hostOf(t).can("memory") {
		skipHost(t, "this host has no memory controller")
	}
	spec := testSpec(t)
	spec.Memory = 64 << 20
	container := ensure(t, spec)
	const hold = `held=$(head -c 25000000 /dev/zero | tr '\0' x); touch /tmp/holds; cat; exit 3`
	run := RunSpec{ID: "warm", Dir: "/", Argv: []string{"sh", "-c", "echo cold; cat"}, Input: []byte("hello"), Warm: &Warm{Key: "key", Input: []byte("hello")}}
	parked := run
	parked.ID, parked.Argv, parked.Warm, parked.Input = "parked-1", []string{"sh", "-c", hold}, nil, nil
	if _, err := container.ParkRun(t.Context(), Parking{Run: parked, Key: "key", For: time.Hour, Facts: Facts{Tree: "/workspace"}}); err != nil {
		t.Fatal(err)
	}
	until(t, "it holds the memory", func() bool { return sh(t, container, "ls /tmp/holds 2>/dev/null || true") != "" })
	if got := sh(t, container, "dd if=/dev/zero of=/dev/null bs=50M count=1 2>/dev/null && echo done"); got != "done" {
		t.Errorf("a command that needs the memory: %q", got)
	}
	var out bytes.Buffer
	status, err := container.Run(t.Context(), run, &out, func(bool) {})
	if err != nil || status.Warm || status.OOM || out.String() != "cold\nhello" {
		t.Errorf("%q, %+v, %v", out.String(), status, err)
	}
}
