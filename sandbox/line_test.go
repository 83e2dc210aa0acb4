package sandbox

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// attending are the processes in a container that carry out requests; looking is one of their requests.
func attending(t testing.TB, container *Container) []string {
	t.Helper()
	return strings.Fields(sh(t, container, `for p in /proc/[0-9]*; do if tr "\0" " " <$p/cmdline 2>/dev/null | grep -q "^/usr/bin/boxinit attend"; then echo ${p#/proc/}; fi; done`))
}

func TestLine(t *testing.T) {
	container := testContainer(t)
	run := func(id string) {
		t.Helper()
		var out strings.Builder
		status, err := container.Run(t.Context(), RunSpec{ID: id, Argv: []string{"sh", "-c", "echo out; exit 3"}}, &out, func(bool) {})
		if err != nil || out.String() != "out\n" || status.Code != 3 {
			t.Errorf("run %s: %q, %+v, %v", id, out.String(), status, err)
		}
	}
	run("one")
	first := attending(t, container)
	run("two")
	if again := attending(t, container); len(first) != 1 || len(again) != 1 || first[0] != again[0] {
		t.Fatalf("lines: first %q, then %q; want one, the same", first, again)
	}

	// Commands at the same time do not wait for each other.
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

	// A line that breaks costs nothing but time.
	if _, err := container.Exec(t.Context(), Cmd{Argv: []string{"sh", "-c", "kill -9 $PPID"}}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("its line was killed: %v, want ErrUnreachable", err)
	}
	run("four")
	pid := attending(t, container)
	if len(pid) != 1 {
		t.Fatalf("lines: %q, want one", pid)
	}
	sh(t, elsewhere(t, container), "kill -STOP "+pid[0])
	run("five")

	// A reader that does not want more ends its line, not the run.
	if _, err := container.Run(t.Context(), RunSpec{ID: "six", Argv: []string{"echo", "out"}}, full{}, func(bool) {}); !errors.Is(err, io.ErrShortBuffer) {
		t.Errorf("%v, want the writer's error", err)
	}
	run("seven")
}

// What a run has printed says nothing about the line.
func TestOfRuntime(t *testing.T) {
	const crash = "runtime: failed to create new OS thread (errno=11)"
	for text, want := range map[string]string{
		"": "", crash: crash, "boxinit: no\n" + crash + "\nfatal error": crash + "\nfatal error",
		`{"stderr":"\nruntime: resource temporarily unavailable\n"}`: "", "no runtime: here": "",
	} {
		if got := ofRuntime(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if err := unattended(2, crash+"\nfatal error: newosproc", nil); !errors.Is(err, ErrExhausted) || strings.Contains(err.Error(), "newosproc") {
		t.Error(err)
	}
}

// A container whose boxinit is older or was removed executes commands in the usual way.
func TestNoLine(t *testing.T) {
	container := testContainer(t)
	sh(t, container, "printf '#!/bin/sh\necho usage: boxinit >&2; exit 2' >/workspace/old; chmod +x /workspace/old")
	_, _ = container.Exec(t.Context(), Cmd{Argv: []string{"sh", "-c", "mv /usr/bin/boxinit /usr/bin/new; cp /workspace/old /usr/bin/boxinit; kill -9 $PPID"}})
	for _, change := range []string{"true", "chmod -x /usr/bin/boxinit", "rm /usr/bin/boxinit", "mv /usr/bin/new /usr/bin/boxinit"} {
		if got := sh(t, container, change+"; echo done"); got != "done" {
			t.Errorf("after %q: %q", change, got)
		}
	}
	if got := attending(t, container); len(got) != 1 {
		t.Errorf("%d lines, want one", len(got))
	}
}

// elsewhere is the container by a connection of its own.
func elsewhere(t *testing.T, container *Container) *Container {
	t.Helper()
	p, err := Connect(t.Context(), "unix://"+testPodman.Socket(), testPodman.log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	own := *container
	own.podman = p
	return &own
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortBuffer }

// A line ends with its Podman.
func TestLineIsClosed(t *testing.T) {
	container := testContainer(t)
	own := elsewhere(t, container)
	before := len(attending(t, container)) // one, or none if it is older than lineIdle
	sh(t, own, "true")
	if now := len(attending(t, container)); now <= before {
		t.Fatalf("%d lines, %d before", now, before)
	}
	own.podman.Close()
	until(t, "the line is closed", func() bool { return len(attending(t, container)) <= max(before, 1) })
}

// A container that is paused between two commands is no line's end.
func TestLinePaused(t *testing.T) {
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

// An answer may arrive while its time ends. That ends the line, so nobody may use it.
func TestAnswerAsTimeEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stopped, gone := make(chan struct{}), make(chan struct{})
	l := &line{gone: gone, stop: func() { close(stopped) }}
	l.in = written(func() {
		cancel()
		<-stopped
		_, _ = stream{l, func(x *exchange) io.Writer { return x.stdout }}.Write([]byte("{}\n"))
		time.AfterFunc(50*time.Millisecond, func() { close(gone) })
	})
	if err := l.ping(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ping: %v, want context.Canceled", err)
	}
	select {
	case <-gone:
	default:
		t.Error("ping has not waited until the line was gone")
	}
}

// written is called when something is written.
type written func()

func (w written) Write(b []byte) (int, error) {
	w()
	return len(b), nil
}
