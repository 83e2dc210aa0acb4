package sandbox

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/containers/podman/v5/pkg/bindings/containers"
)

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
