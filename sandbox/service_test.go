package sandbox

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/state/sentence"
)

// testService is a podman service of the test's own, which can be killed.
type testService struct {
	t      *testing.T
	socket string
	flags  []string
	cmd    *exec.Cmd
}

// startService starts one with podman's global flags.
func startService(t *testing.T, flags ...string) *testService {
	t.Helper()
	needPodman(t)
	if _, err := exec.LookPath("podman"); err != nil {
		skipHost(t, err.Error())
	}
	if os.Getenv("SANDBOX_RUNTIME") == GVisor && len(flags) == 0 {
		path, err := filepath.Abs("../deploy/host/runsc")
		if err != nil {
			t.Fatal(err)
		}
		flags = []string{"--runtime", path}
	}
	s := &testService{t: t, socket: filepath.Join(t.TempDir(), "podman.sock"), flags: flags}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *testService) start() {
	s.t.Helper()
	os.Remove(s.socket)
	s.cmd = exec.Command("podman", append(slices.Clone(s.flags), "system", "service", "--time=0", "unix://"+s.socket)...)
	s.cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { // it would turn the command into a client
		return strings.HasPrefix(kv, "CONTAINER_HOST=")
	})
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	until(s.t, "podman's service listens", func() bool {
		_, err := os.Stat(s.socket)
		return err == nil
	})
}

func (s *testService) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

func (s *testService) connect() *Rooms {
	s.t.Helper()
	return roomsAt(s.t, s.socket, testPodman.Place)
}

// A follower survives a service that is killed and comes back: each byte arrives once, whether the run was started
// before or with the same command.
func TestFollowThroughServiceRestart(t *testing.T) {
	const script = "echo first; until [ -e /workspace/go ]; do usleep 50000; done; seq 20000"
	for name, follow := range map[string]func(*Container, io.Writer) (RunStatus, error){
		"followed": func(c *Container, w io.Writer) (RunStatus, error) {
			start(t, c, "r", script)
			return c.FollowRun(t.Context(), "r", 0, w)
		},
		"started": func(c *Container, w io.Writer) (RunStatus, error) {
			return c.Run(t.Context(), RunSpec{ID: "r", Argv: []string{"sh", "-c", script}}, w, func(bool) {})
		},
	} {
		t.Run(name, func(t *testing.T) { followThroughRestart(t, follow) })
	}
}

func followThroughRestart(t *testing.T, follow func(*Container, io.Writer) (RunStatus, error)) {
	s := startService(t)
	p := s.connect()
	container, err := p.Ensure(t.Context(), testSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	lines := &watched{seen: make(chan struct{}, 1)}
	type end struct {
		status RunStatus
		err    error
	}
	done := make(chan end, 1)
	go func() {
		status, err := follow(container, lines)
		done <- end{status, err}
	}()
	<-lines.seen
	s.kill()
	// While it is away, each call fails with an error that says so.
	if _, err := container.Exec(t.Context(), Cmd{Argv: []string{"true"}}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("exec without service: %v, want ErrUnreachable", err)
	}
	started := make(chan error, 1)
	go func() {
		begun := false
		_, err := container.Run(t.Context(), RunSpec{ID: "later", Argv: []string{"touch", "/workspace/go"}}, io.Discard, func(existed bool) { begun = !existed })
		if !begun {
			err = errors.Join(err, errors.New("not begun"))
		}
		started <- err
	}()
	s.start()
	if err := <-started; err != nil {
		t.Error("start while the service comes back:", err)
	}
	got := <-done
	if got.err != nil || got.status.State != RunExited {
		t.Fatalf("%+v", got)
	}
	text := lines.text.String()
	if int64(len(text)) != got.status.Size || !strings.HasPrefix(text, "first\n1\n2\n") || !strings.HasSuffix(text, "\n19999\n20000\n") {
		t.Errorf("%d bytes came, the run printed %d: %+v", len(text), got.status.Size, got.status)
	}
}

// watched collects what is written and signals each write.
type watched struct {
	text strings.Builder
	seen chan struct{}
}

func (w *watched) Write(b []byte) (int, error) {
	w.text.Write(b)
	select {
	case w.seen <- struct{}{}:
	default:
	}
	return len(b), nil
}

func TestConnectUnreachable(t *testing.T) {
	_, err := Connect(t.Context(), "unix:///no/such/podman.sock", zerolog.Nop())
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(sentence.Text(err), "podman.socket") {
		t.Errorf("%v, want ErrUnreachable", err)
	}
	if _, err := Connect(t.Context(), "ssh://host/run", zerolog.Nop()); err == nil {
		t.Error("an ssh URI was accepted")
	}
}

func TestDefaultSocket(t *testing.T) {
	for _, c := range []struct {
		uid           int
		runtime, want string
	}{
		{0, "/run/user/0", "unix:///run/podman/podman.sock"},
		{1000, "", "unix:///run/user/1000/podman/podman.sock"},
		{1000, "/tmp/run", "unix:///tmp/run/podman/podman.sock"},
	} {
		if got := defaultSocket(c.uid, c.runtime); got != c.want {
			t.Errorf("user %d, %q: %s, want %s", c.uid, c.runtime, got, c.want)
		}
	}
}

func TestVersion(t *testing.T) {
	version, err := needPodman(t).Version(t.Context())
	if err != nil || strings.Count(version, ".") < 2 {
		t.Errorf("%q, %v", version, err)
	}
}

// No goroutine or descriptor is leaked, even if a caller leaves early.
func TestNoLeaks(t *testing.T) {
	container := beside(testContainer(t))
	start(t, container, "r", "echo hello; exec sleep 1000")
	work := func() {
		sh(t, container, "true")
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		container.FollowRun(ctx, "r", 0, &strings.Builder{})
		container.Exec(ctx, Cmd{Argv: []string{"sleep", "1000"}, Stdin: strings.NewReader("x")})
		container.Exec(t.Context(), Cmd{Argv: []string{"true"}, Stdin: strings.NewReader(strings.Repeat("unread ", 1<<18))})
	}
	count := func() (goroutines, descriptors int) {
		testPodman.Close()
		http.DefaultClient.CloseIdleConnections()
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return runtime.NumGoroutine(), len(entries)
	}
	work()
	goroutines, descriptors := count()
	for range 5 {
		work()
	}
	until(t, "all goroutines and descriptors are released", func() bool {
		g, d := count()
		return g <= goroutines && d <= descriptors
	})
}
