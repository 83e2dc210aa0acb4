package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// start starts a shell script as a run.
func start(t testing.TB, container *Container, id, script string) {
	t.Helper()
	if _, err := container.StartRun(t.Context(), RunSpec{ID: id, Argv: []string{"sh", "-c", script}}); err != nil {
		t.Fatal(err)
	}
}

// follow reads a run to its end.
func follow(t testing.TB, container *Container, id string) (string, RunStatus) {
	t.Helper()
	var out bytes.Buffer
	status, err := container.FollowRun(t.Context(), id, 0, &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), status
}

// One command starts a run and follows it from the beginning.
func TestRunAttached(t *testing.T) {
	container := testContainer(t)
	run := func(spec RunSpec) (out string, begun []bool, status RunStatus, err error) {
		var w strings.Builder
		status, err = container.Run(t.Context(), spec, &w, func(existed bool) {
			if w.Len() > 0 {
				t.Errorf("output before the run has begun: %q", w.String())
			}
			begun = append(begun, existed)
		})
		return w.String(), begun, status, err
	}
	spec := RunSpec{ID: "one", Argv: []string{"sh", "-c", "echo first; cat; seq 20000; echo oops >&2; exit 3"}}
	for _, existed := range []bool{false, true} {
		out, begun, status, err := run(spec)
		if err != nil || status.State != RunExited || status.Code != 3 || status.Stderr != "oops\n" {
			t.Fatalf("existed %v: %+v, %v", existed, status, err)
		}
		if int64(len(out)) != status.Size || !strings.HasPrefix(out, "first\n1\n") || !strings.HasSuffix(out, "\n20000\n") {
			t.Errorf("existed %v: %d bytes came, the run printed %d", existed, len(out), status.Size)
		}
		if diff := cmp.Diff([]bool{existed}, begun); diff != "" {
			t.Error(diff)
		}
	}
	// A run whose supervisor still writes to the disk is forgotten later.
	until(t, "its supervisor has ended", func() bool {
		return sh(t, container, `cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\0" " " | grep -c "supervise on[e]" || true`) == "0"
	})
	if _, _, _, err := run(RunSpec{ID: "two", Argv: []string{"true"}, Forget: []string{"one", "../x", "unknown"}}); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		id, script string
		absent     bool
	}{{"nothing", "true", true}, {"folder", "mkdir /workspace/out", false}} {
		_, _, status, err := run(RunSpec{ID: c.id, Argv: []string{"sh", "-c", c.script}, Watch: []string{"/workspace/out"}})
		if err != nil || len(status.Watch) != 1 || status.Watch[0].Absent != c.absent {
			t.Errorf("%s: %+v, %v", c.id, status.Watch, err)
		}
	}
	if status, err := container.RunStatus(t.Context(), "one"); err != nil || status.State != RunNone {
		t.Errorf("a run to be forgotten: %+v, %v", status, err)
	}
	start(t, container, "file", "echo there > /workspace/file")
	follow(t, container, "file")
	for want, spec := range map[string]RunSpec{
		ErrFileExists.Error(): {ID: "present", Argv: []string{"true"}, Without: []string{"/workspace/file"}},
		"no such file":        {ID: "missing", Argv: []string{"/none"}},
		"want 1 to 64":        {ID: "../x", Argv: []string{"true"}},
	} {
		if out, begun, _, err := run(spec); err == nil || !strings.Contains(err.Error(), want) || begun != nil || out != "" {
			t.Errorf("%s: %v, begun %v, %q", spec.ID, err, begun, out)
		}
	}
	// The run goes on without its caller.
	ctx, cancel := context.WithCancel(t.Context())
	_, err := container.Run(ctx, RunSpec{ID: "on", Argv: []string{"sh", "-c", "until [ -e /workspace/go ]; do usleep 50000; done; echo done"}}, io.Discard, func(bool) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	start(t, container, "go", "touch /workspace/go")
	if out, status := follow(t, container, "on"); out != "done\n" || status.State != RunExited {
		t.Errorf("%q, %+v", out, status)
	}
}

func TestRun(t *testing.T) {
	container := testContainer(t)
	spec := RunSpec{
		ID: "one", Env: []string{"X=y"},
		Argv: []string{"sh", "-c", `echo "hello $MATRIX_TUI_RUN $X"; echo oops >&2; pwd; cat; exit 3`},
	}
	if existed, err := container.StartRun(t.Context(), spec); err != nil || existed {
		t.Fatal(existed, err)
	}
	out, status := follow(t, container, "one")
	if want := "hello one y\n/workspace\n"; out != want {
		t.Errorf("stdout %q, want %q", out, want)
	}
	want := RunStatus{State: RunExited, Code: 3, Stderr: "oops\n", Size: int64(len(out))}
	if diff := cmp.Diff(want, status, cmpopts.IgnoreFields(RunStatus{}, "Started", "Ended", "Left")); diff != "" {
		t.Error(diff)
	}
	if status.Started.IsZero() || status.Ended.Before(status.Started) {
		t.Errorf("from %s to %s", status.Started, status.Ended)
	}
	if existed, err := container.StartRun(t.Context(), spec); err != nil || !existed {
		t.Errorf("started again: %v, %v", existed, err)
	}
	var rest bytes.Buffer
	if _, err := container.FollowRun(t.Context(), "one", 6, &rest); err != nil || rest.String() != out[6:] {
		t.Errorf("from byte 6: %q, %v", rest.String(), err)
	}
	if err := container.StopRun(t.Context(), "one"); err != nil {
		t.Error("stop after the end:", err)
	}
	for deadline := time.Now().Add(hung); status.Left; { // a supervisor that has yet to end keeps its run
		var err error
		if status, err = container.RunStatus(t.Context(), "one"); err != nil || time.Now().After(deadline) {
			t.Fatal("the supervisor does not end:", err)
		}
	}
	if err := container.RemoveRun(t.Context(), "one"); err != nil {
		t.Error(err)
	}
	for what, id := range map[string]string{"removed": "one", "unknown": "two"} {
		if _, status := follow(t, container, id); status.State != RunNone {
			t.Errorf("%s: %+v", what, status)
		}
		if status, err := container.RunStatus(t.Context(), id); err != nil || status.State != RunNone {
			t.Errorf("%s: %+v, %v", what, status, err)
		}
		if err := container.StopRun(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}

// A run can be followed while it prints, its status is known, and it cannot be removed.
func TestFollowIsPrompt(t *testing.T) {
	container := testContainer(t)
	start(t, container, "r", "echo first; until [ -e /workspace/go ]; do sleep 0.05; done; echo second")
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		status, err := container.FollowRun(t.Context(), "r", 0, w)
		if err == nil && status.State != RunExited {
			err = fmt.Errorf("%+v", status)
		}
		w.Close()
		done <- err
	}()
	var first [6]byte
	if _, err := io.ReadFull(r, first[:]); err != nil || string(first[:]) != "first\n" {
		t.Fatalf("%q, %v", first, err)
	}
	if status, err := container.RunStatus(t.Context(), "r"); err != nil || status.State != RunRunning || status.Size != 6 {
		t.Errorf("%+v, %v", status, err)
	}
	if err := container.RemoveRun(t.Context(), "r"); err == nil {
		t.Error("removed while running")
	}
	sh(t, container, "touch /workspace/go")
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "second\n" {
		t.Errorf("%q, %v", rest, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The stored output is bounded, however much is printed, and contains the end.
func TestRunMaxOutput(t *testing.T) {
	container := testContainer(t)
	const bound = 1 << 20
	_, err := container.StartRun(t.Context(), RunSpec{
		ID: "loud", MaxOutput: bound, Argv: []string{"sh", "-c", "seq 1000000; echo the end; seq 100000 >&2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, status := follow(t, container, "loud")
	if int64(len(out)) != status.Size || len(out) < bound || len(out) > bound+256<<10+100 {
		t.Errorf("%d bytes came, %d kept", len(out), status.Size)
	}
	begin, end, cut := strings.Cut(out, "\n{\"type\":\"truncated\",\"dropped\":")
	if !cut || len(begin) > bound || !strings.HasPrefix(begin, "1\n2\n") || !strings.HasSuffix(end, "\n1000000\nthe end\n") {
		t.Errorf("no mark between beginning and end: cut %v, %d and %d bytes", cut, len(begin), len(end))
	}
	if len(status.Stderr) > 4096 || !strings.HasSuffix(status.Stderr, "99999\n100000\n") {
		t.Errorf("stderr %d bytes", len(status.Stderr))
	}
}

// A run started by many callers at once starts once.
func TestStartRunOnce(t *testing.T) {
	container := testContainer(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	fresh := 0
	for range 6 {
		wg.Go(func() {
			existed, err := container.StartRun(t.Context(), RunSpec{ID: "once", Argv: []string{"sh", "-c", "echo x >> /workspace/times"}})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if !existed {
				fresh++
			}
		})
	}
	wg.Wait()
	follow(t, container, "once")
	if got := sh(t, container, "cat /workspace/times"); got != "x" || fresh != 1 {
		t.Errorf("ran %q, %d of 6 callers say that they started it", got, fresh)
	}
}

// A follower can leave, and later continue where it stopped reading.
func TestRunOutlivesFollower(t *testing.T) {
	container := testContainer(t)
	start(t, container, "r", "echo first; until [ -e /workspace/go ]; do sleep 0.05; done; echo second")
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := container.FollowRun(ctx, "r", 0, w)
		done <- err
	}()
	io.ReadFull(r, make([]byte, 6))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	until(t, "the follower's process is gone from the container", func() bool {
		return !strings.Contains(sh(t, container, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"), "tail -attached")
	})
	sh(t, container, "touch /workspace/go")
	var rest bytes.Buffer
	if status, err := container.FollowRun(t.Context(), "r", 6, &rest); err != nil || rest.String() != "second\n" || status.State != RunExited {
		t.Errorf("%q, %+v, %v", rest.String(), status, err)
	}
}
