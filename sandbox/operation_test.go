package sandbox

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// connector returns the process in a container that carries out operations.
func connector(t testing.TB, container *Container) string {
	t.Helper()
	return sh(t, container, `for p in /proc/[0-9]*; do if tr "\0" " " <$p/cmdline 2>/dev/null | grep -qx "boxinit connect "; then echo ${p#/proc/}; fi; done`)
}

func TestConnector(t *testing.T) {
	container := testContainer(t)
	run := func(id string) {
		t.Helper()
		var out strings.Builder
		status, err := container.Run(t.Context(), RunSpec{ID: id, Argv: []string{"sh", "-c", "echo out; exit 3"}}, &out, func(bool) {})
		if err != nil || out.String() != "out\n" || status.Code != 3 {
			t.Errorf("run %s: %q, %+v, %v", id, out.String(), status, err)
		}
	}
	until(t, "the container offers a connection", func() bool { return offered(testRooms, container.Room) })
	first := connector(t, container)
	run("one")
	if again := connector(t, container); first == "" || again != first {
		t.Fatalf("processes: first %q, then %q; want one, the same", first, again)
	}

	// Operations at the same time do not wait for each other.
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 1)
	go func() {
		_, err := container.Exec(ctx, Cmd{Argv: []string{"sh", "-c", "touch /workspace/there; exec sleep 1000"}})
		waiting <- err
	}()
	until(t, "the command is running", func() bool { return sh(t, container, "ls /workspace") == "there" })
	run("three")
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}

	// A process that ends costs nothing but time, and one that does not go on costs some more.
	if _, err := container.Exec(t.Context(), Cmd{Argv: []string{"sh", "-c", "kill -9 $PPID"}}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("its process was killed: %v, want ErrUnreachable", err)
	}
	run("four")
	pid := connector(t, container)
	if pid == "" || pid == first {
		t.Fatalf("processes: first %q, then %q", first, pid)
	}
	// Kill returns before all threads have stopped: one of them could still begin to answer.
	sh(t, elsewhere(t, container), "kill -STOP "+pid+"; while grep -h ^State: /proc/"+pid+"/task/*/status | grep -qv stopped; do usleep 1000; done")
	run("five")
	sh(t, elsewhere(t, container), "kill -CONT "+pid)

	// A reader that does not want more ends its operation, not the run.
	if _, err := container.Run(t.Context(), RunSpec{ID: "six", Argv: []string{"echo", "out"}}, full{}, func(bool) {}); !errors.Is(err, io.ErrShortBuffer) {
		t.Errorf("%v, want the writer's error", err)
	}
	run("seven")
}

func TestUnattended(t *testing.T) {
	const crash = "runtime: failed to create new OS thread (errno=11)"
	if err := unattended(2, crash+"\nfatal error: newosproc"); !errors.Is(err, ErrExhausted) || strings.Contains(err.Error(), "newosproc") {
		t.Error(err)
	}
	for said, code := range map[string]int{"usage: boxinit": exitUsage, "exec: permission denied": exitNotExecutable, "stat /boxinit: no such file or directory": exitNoProgram} {
		if err := unattended(code, said); !errors.Is(err, ErrOldImage) {
			t.Error(err)
		}
	}
	if err := unattended(exitNotExecutable, "attach: connection reset by peer"); err == nil || errors.Is(err, ErrOldImage) {
		t.Error(err)
	}
}

// elsewhere is the container by a connection of its own, to which nothing is offered.
func elsewhere(t *testing.T, container *Container) *Container {
	t.Helper()
	return NewRooms(testPodman, testPodman.log).container(container.Ensured)
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortBuffer }

// A container that is paused between two commands says so.
func TestPausedBetween(t *testing.T) {
	container := testContainer(t)
	sh(t, container, "true")
	pause(t, container)
	begun := time.Now()
	if _, err := container.Exec(t.Context(), Cmd{Argv: []string{"true"}}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("%v, want ErrNotRunning", err)
	}
	if took := time.Since(begun); took > hung {
		t.Errorf("took %v", took)
	}
}
