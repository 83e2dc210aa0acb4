package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"matrix-tui/sandbox/gateway"
)

// gatewayFor opens a gateway to which the containers of a Podman offer connections.
func gatewayFor(t *testing.T, p *Podman, room string) (g *gateway.Gateway, dir string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "gw") // short: a socket's path has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	g = gateway.New(gateway.Config{Dir: folder, Upstream: &url.URL{}, Log: zerolog.Nop()})
	g.Attend(OfferPath, OfferField, func(room string, conn net.Conn, parked string) { p.Offer(room, conn, parked) })
	t.Cleanup(func() { g.Close(context.Background()) })
	if dir, err = g.Open(room); err != nil {
		t.Fatal(err)
	}
	return g, dir
}

func offered(p *Podman, room string) bool {
	p.offers.mu.Lock()
	defer p.offers.mu.Unlock()
	return p.offers.conns[room] != nil
}

// While podman's service is away, runs start and end, as long as the container was used before.
func TestWithoutPodman(t *testing.T) {
	s := startService(t)
	p := s.connect()
	spec := testSpec(t)
	_, spec.Gateway = gatewayFor(t, p, spec.Room)
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

// Who has begun to wait gets a connection that comes in time, even if another caller has given up. Nobody begins to wait for
// a container that offers no more.
func TestTakeLateOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the time is its own: nothing really waits
		p := &Podman{}
		ours, theirs := net.Pipe()
		defer theirs.Close()
		p.Offer("!r", ours, "")
		if p.offers.take(t.Context(), "!r") != ours {
			t.Fatal("what was offered is not there")
		}
		later := make(chan net.Conn, 1)
		time.AfterFunc(offerTime/2, func() { later <- p.offers.take(t.Context(), "!r") })
		for _, want := range []time.Duration{offerTime, 0} {
			begun := time.Now()
			if conn := p.offers.take(t.Context(), "!r"); conn != nil || time.Since(begun) != want {
				t.Errorf("waited %s, want %s", time.Since(begun), want)
			}
		}
		p.Offer("!r", ours, "")
		if conn := <-later; conn != ours {
			t.Error("who waited did not get what came in time")
		}
	})
}

// A connection that does not answer as boxinit does is given up for podman.
func TestOddOffers(t *testing.T) {
	container := testContainer(t)
	p := container.podman
	for name, do := range map[string]func(c net.Conn){
		"closed":  func(c net.Conn) { c.Close() },
		"silent":  func(c net.Conn) { io.Copy(io.Discard, c) },
		"garbage": func(c net.Conn) { go io.Copy(io.Discard, c); c.Write([]byte(strings.Repeat("no frame", 1000))) },
		"a frame without end": func(c net.Conn) {
			go io.Copy(io.Discard, c)
			c.Write([]byte{1, 255, 255, 255, 255})
			c.Write(make([]byte, 1<<20))
		},
		"not JSON": func(c net.Conn) { go io.Copy(io.Discard, c); c.Write([]byte{1, 0, 0, 0, 2, 'x', '\n'}) },
	} {
		ours, theirs := net.Pipe()
		go do(theirs)
		p.Offer(container.Room, ours, "")
		if l := p.lines.take(t.Context(), container.ID); l != nil { // so that a new one is needed
			l.close()
		}
		if result, err := container.Exec(t.Context(), Cmd{Argv: []string{"echo", "hello"}}); err != nil || string(result.Stdout) != "hello\n" {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}

// An older boxinit answers a command with an input like a request for nothing.
func TestOlderLine(t *testing.T) {
	container := testContainer(t)
	p := container.podman
	if l := p.lines.take(t.Context(), container.ID); l != nil {
		l.close()
	}
	ours, theirs := net.Pipe()
	go func() {
		for lines := bufio.NewScanner(theirs); lines.Scan(); {
			_, _ = theirs.Write([]byte{1, 0, 0, 0, 3, '{', '}', '\n'})
		}
	}()
	p.Offer(container.Room, ours, "")
	if err := container.WriteFile(t.Context(), "/workspace/a", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if l := p.lines.take(t.Context(), container.ID); l != nil { // the one that was offered
		l.close()
	}
	if got, err := container.ReadFile(t.Context(), "/workspace/a", 10); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
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
	if l := p.lines.take(t.Context(), container.ID); l != nil { // so that a new one is needed
		l.close()
	}
	offerStuck(p, spec.Room)
	run := RunSpec{ID: "r", Argv: []string{"echo", "hello"}}
	_, err = container.Run(t.Context(), run, io.Discard, func(bool) { t.Error("it has begun") })
	if !errors.Is(err, ErrStuck) {
		t.Fatal(err)
	}
	if got := leftover(); got != "" {
		t.Errorf("after the restart there is still %s", got)
	}
	p.startTime = 0
	var out strings.Builder
	begun := 0
	if status, err := container.Run(t.Context(), run, &out, func(bool) { begun++ }); err != nil || begun != 1 || out.String() != "hello\n" {
		t.Errorf("%+v, %q, begun %d, %v", status, out.String(), begun, err)
	}
}

// offerStuck offers a connection that answers the first request only.
func offerStuck(p *Podman, room string) {
	ours, theirs := net.Pipe()
	p.Offer(room, ours, "")
	go func() {
		requests := json.NewDecoder(theirs)
		for first := true; requests.Decode(new(json.RawMessage)) == nil; first = false {
			if first {
				theirs.Write([]byte("\x01\x00\x00\x00\x03{}\n"))
			}
		}
	}()
}
