package sandbox

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"matrix-tui/sandbox/boxinit"
	"matrix-tui/sandbox/gateway"
)

// gatewayFor opens a gateway to which the containers of rooms offer connections.
func gatewayFor(t testing.TB, r *Rooms, room string) (g *gateway.Gateway, dir string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "gw") // short: a socket's path has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	g = gateway.New(gateway.Config{Dir: folder, Log: zerolog.Nop()})
	g.Attend(OfferPath, OfferField, func(room string, conn net.Conn, parked string) { r.Offer(room, conn, parked) })
	testDoors.all.Store(room, g)
	t.Cleanup(func() { g.Close(context.Background()) })
	if dir, err = g.Open(room); err != nil {
		t.Fatal(err)
	}
	return g, dir
}

func offered(p *Rooms, room string) bool {
	p.offers.mu.Lock()
	defer p.offers.mu.Unlock()
	return p.offers.of(room).conn != nil
}

// While podman's service is away, runs start and end, as long as the container was used before.
func TestWithoutPodman(t *testing.T) {
	s := startService(t)
	p := s.connect()
	spec := testSpec(t)
	gatewayFor(t, p, spec.Room)
	if _, err := p.Ensure(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	until(t, "the container offers a connection", func() bool { return offered(p, spec.Room) })
	for _, signal := range []os.Signal{syscall.SIGSTOP, syscall.SIGCONT} { // it accepts connections, and does not answer
		if err := s.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Ensure(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	s.kill()
	until(t, "the container offers a connection", func() bool { return offered(p, spec.Room) })
	container, err := p.Ensure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if container.Created || container.Started {
		t.Errorf("%+v", container)
	}
	var out strings.Builder
	begun := 0
	status, err := container.Run(t.Context(), RunSpec{ID: "r", Argv: []string{"sh", "-c", "seq 20000; echo oops >&2; exit 3"}}, &out, func(bool) { begun++ })
	if err != nil || status.Code != 3 || status.Stderr != "oops\n" || begun != 1 || int64(out.Len()) != status.Size || !strings.HasSuffix(out.String(), "\n20000\n") {
		t.Fatalf("%+v, %d bytes, begun %d, %v", status, out.Len(), begun, err)
	}
	if result, err := container.Exec(t.Context(), Cmd{Argv: []string{"echo", "hello"}}); err != nil || string(result.Stdout) != "hello\n" {
		t.Errorf("%+v, %v", result, err)
	}
	note := strings.Repeat("a note\n", 1<<17)
	if err := container.WriteFile(t.Context(), "/workspace/notes", []byte(note)); err != nil {
		t.Error(err)
	}
	if got, err := container.ReadFile(t.Context(), "/workspace/notes", 1<<20+1); err != nil || string(got) != note {
		t.Errorf("%d bytes, want %d, %v", len(got), len(note), err)
	}
	var several errgroup.Group // each needs a connection of its own
	for range 4 {
		several.Go(func() error {
			_, err := container.Exec(t.Context(), Cmd{Argv: []string{"sleep", "0.5"}})
			return err
		})
	}
	if err := several.Wait(); err != nil {
		t.Error(err)
	}
	other := spec
	other.Memory = 100 << 20
	ctx, cancel := context.WithTimeout(t.Context(), 500*1e6)
	defer cancel()
	if _, err := p.Ensure(ctx, other); err == nil {
		t.Error("another spec was ensured without podman")
	}
	s.start()
}

// pretend offers a connection on which something answers the first byte, and then does what do does.
func pretend(t testing.TB, p *Rooms, room string, do func(f *boxinit.Frames, r boxinit.Request)) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { theirs.Close() })
	go func() {
		one := make([]byte, 1)
		if _, err := io.ReadFull(theirs, one); err != nil {
			return
		}
		_, _ = theirs.Write(one)
		f := boxinit.NewFrames(theirs)
		_, data, err := f.Next(1 << 20)
		if err != nil {
			return
		}
		var r boxinit.Request
		_ = boxinit.ReadJSON(data, &r)
		go io.Copy(io.Discard, theirs)
		do(f, r)
	}()
	p.Offer(room, ours, "")
}

// Who has begun to wait gets a connection that comes in time, even if another caller has given up. Nobody begins to wait for
// a container that offers no more.
func TestTakeLateOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the time is its own: nothing really waits
		p := &Rooms{}
		nothing := func(*boxinit.Frames, boxinit.Request) {}
		pretend(t, p, "!r", nothing)
		if p.offers.take(t.Context(), "!r", offerTime) == nil {
			t.Fatal("what was offered is not there")
		}
		later := make(chan net.Conn, 1)
		time.AfterFunc(offerTime/2, func() { later <- p.offers.take(t.Context(), "!r", offerTime) })
		for _, want := range []time.Duration{offerTime, 0} {
			begun := time.Now()
			if conn := p.offers.take(t.Context(), "!r", offerTime); conn != nil || time.Since(begun) != want {
				t.Errorf("waited %s, want %s", time.Since(begun), want)
			}
		}
		pretend(t, p, "!r", nothing)
		if <-later == nil {
			t.Error("who waited did not get what came in time")
		}
	})
}

// forged is a container that only its offers lead to.
func forged() (*Rooms, *Container) {
	r := NewRooms(nil, zerolog.Nop())
	return r, r.container(Ensured{Name: "forged", Room: "!forged:example.org", Strength: "{}"})
}

// What answers in boxinit's place, and not as boxinit does, costs one operation.
func TestOddAnswers(t *testing.T) {
	for name, do := range map[string]func(f *boxinit.Frames, r boxinit.Request){
		"another kind": func(f *boxinit.Frames, _ boxinit.Request) { f.Write(77, nil) },
		"too long": func(f *boxinit.Frames, _ boxinit.Request) {
			f.Write(boxinit.FrameStdout, make([]byte, boxinit.MaxFrame+1))
		},
		"not JSON": func(f *boxinit.Frames, _ boxinit.Request) { f.Write(boxinit.FrameReply, []byte("x")) },
		"an input": func(f *boxinit.Frames, _ boxinit.Request) { f.Write(boxinit.FrameInput, []byte("x")) },
		"endless reply": func(f *boxinit.Frames, _ boxinit.Request) {
			f.Write(boxinit.FrameReply, make([]byte, 2*boxinit.MaxFrame))
		},
	} {
		r, c := forged()
		pretend(t, r, c.Room, do)
		if _, err := c.Exec(t.Context(), Cmd{Argv: []string{"true"}}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A forged reply and a forged status are no longer than true ones.
func TestForgedLength(t *testing.T) {
	long := strings.Repeat("é", 50_000)
	status := RunStatus{State: RunExited, Stderr: long, Signal: long}
	for range 20 {
		status.Watch = append(status.Watch, Watched{Path: "/workspace/status.md", Tail: long[:8<<10]})
	}
	r, c := forged()
	answer := func(f *boxinit.Frames, r boxinit.Request) {
		if r.Op == boxinit.OpExec {
			_, _ = f.Stream(boxinit.FrameStdout).Write([]byte(long))
			_, _ = f.Stream(boxinit.FrameStderr).Write([]byte(long))
		}
		if r.Follow {
			_ = f.WriteJSON(boxinit.FrameReply, boxinit.Reply{})
		}
		if err := f.WriteJSON(boxinit.FrameReply, boxinit.Reply{Status: &status}); err != nil {
			t.Error(err)
		}
	}
	pretend(t, r, c.Room, answer)
	result, err := c.Exec(t.Context(), Cmd{Argv: []string{"cat"}, MaxOutput: 4 << 10})
	if err != nil || len(result.Stdout) != 4<<10 || len(result.Stderr) != 4<<10 || !result.Truncated {
		t.Errorf("%d and %d bytes, truncated %v, %v", len(result.Stdout), len(result.Stderr), result.Truncated, err)
	}
	pretend(t, r, c.Room, answer)
	got, err := c.Run(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}, io.Discard, func(bool) {})
	if err != nil || got.State != RunExited || !strings.HasSuffix(long, got.Stderr) {
		t.Errorf("%.100v, %v", got, err)
	}
	size, all := len(got.Stderr), len(got.Stderr)+len(got.Signal)
	for _, w := range got.Watch {
		size, all = max(size, len(w.Tail)), all+len(w.Tail)
	}
	if size > 4<<10 || all > 100<<10 {
		t.Errorf("parts of up to %d bytes, %d bytes in all", size, all)
	}
	pretend(t, r, c.Room, func(f *boxinit.Frames, _ boxinit.Request) {
		_ = f.WriteJSON(boxinit.FrameReply, boxinit.Reply{Error: long})
	})
	if _, err := c.Exec(t.Context(), Cmd{Argv: []string{"cat"}}); err == nil || len(err.Error()) > 2000 {
		t.Errorf("%.100v", err)
	}
}

// An operation that something pretends to carry out ends with its time.
func TestOperationTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := forged()
		pretend(t, r, c.Room, func(*boxinit.Frames, boxinit.Request) { <-t.Context().Done() })
		begun := time.Now()
		if _, err := c.ReadFile(t.Context(), "/workspace/x", 10); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != operationTime {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}

// A container in which something pretends to start runs, and does not, is restarted.
func TestStuckStart(t *testing.T) {
	service := startService(t)
	p := service.connect()
	p.startTime = time.Second
	spec := testSpec(t)
	container, err := p.Ensure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	leftover := func() string {
		return sh(t, container, `for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline | grep -x 'sleep 12345 ' || true; done`)
	}
	sh(t, container, "sleep 12345 >/dev/null 2>&1 &")
	if leftover() == "" {
		t.Fatal("the process that is left over does not run")
	}
	pretend(t, p, spec.Room, func(*boxinit.Frames, boxinit.Request) {})
	run := RunSpec{ID: "r", Argv: []string{"echo", "hello"}}
	_, err = container.Run(t.Context(), run, io.Discard, func(bool) { t.Error("it has begun") })
	if !errors.Is(err, ErrStuck) {
		t.Fatal(err)
	}
	container.startTime = startTime
	if got := leftover(); got != "" {
		t.Errorf("after the restart there is still %s", got)
	}
	var out strings.Builder
	begun := 0
	if status, err := container.Run(t.Context(), run, &out, func(bool) { begun++ }); err != nil || begun != 1 || out.String() != "hello\n" {
		t.Errorf("%+v, %q, begun %d, %v", status, out.String(), begun, err)
	}
}
