//go:build kube

package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/sandbox/sandboxtest"
)

// site is a bot's part of the cluster: everything but the bot.
type site struct {
	*sandbox.Rooms
	t       testing.TB
	cluster *Cluster
	dir     string
	address string // of the door
	gate    *gateway.Gateway
	end     func()
}

// newSite connects to the cluster and opens the door, as the bot does.
func newSite(t testing.TB) *site {
	t.Helper()
	operate(t, "volumes") // those of earlier tests can be used again
	s := &site{t: t, dir: t.TempDir()}
	var err error
	if s.address, err = sandboxtest.DoorIn(os.Getenv("MATRIX_TUI_KUBE")); err != nil {
		t.Fatal(err)
	}
	s.open()
	t.Cleanup(func() { s.end() })
	return s
}

// open is the start of a bot.
func (s *site) open() {
	s.t.Helper()
	log := zerolog.New(zerolog.NewTestWriter(s.t)).Level(zerolog.InfoLevel)
	certificate, public, err := Certificate(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	s.cluster, err = Connect(s.t.Context(), Config{
		Kubeconfig: filepath.Join(os.Getenv("MATRIX_TUI_KUBE"), "admin.kubeconfig"), Namespace: "default", Door: s.address,
		DoorCert: public, Storage: "1Gi",
	}, log)
	if err != nil {
		s.t.Fatal(err)
	}
	if os.Getenv("SANDBOX_RUNTIME") == sandbox.GVisor {
		s.cluster.cfg.RuntimeClass = "gvisor"
	}
	s.Rooms = sandbox.NewRooms(s.cluster, log)
	s.gate = gateway.New(gateway.Config{Dir: filepath.Join(s.dir, "g"), Log: log})
	s.gate.Attend(sandbox.OfferPath, sandbox.OfferField, func(room string, conn net.Conn, value string) {
		s.Rooms.Offer(room, conn, value)
	})
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	door := s.cluster.Door(certificate, func(ctx context.Context, room string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", filepath.Join(s.gate.Folder(room), "sock"))
	})
	serving.Go(func() { _ = door.Serve(ctx, listener) })
	rooms, gate := s.Rooms, s.gate
	s.end = sync.OnceFunc(func() {
		cancel()
		serving.Wait()
		gate.Close(context.Background())
		rooms.Close()
	})
}

// spec is a new room's.
func (s *site) spec(number int) sandbox.Spec {
	s.t.Helper()
	return s.specOf(s.t, fmt.Sprintf("!Kube-%d-%d:localhost", number, time.Now().UnixNano()))
}

// specOf is a room's, of which nothing is left after the test.
func (s *site) specOf(t testing.TB, room string) sandbox.Spec {
	t.Helper()
	if _, err := s.gate.Open(room); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		eventually(t, "the room is removed", func() bool {
			err := s.cluster.Remove(context.Background(), sandbox.NameFor(room), room, room)
			if err != nil && !errors.Is(err, errEnding) { // which takes minutes after a time without the API server
				t.Error(err)
			}
			return !errors.Is(err, errEnding)
		})
	})
	return sandbox.Spec{Room: room, Image: os.Getenv("MATRIX_TUI_KUBE_IMAGE"), Memory: 512 << 20, CPUs: 1, Runtime: os.Getenv("SANDBOX_RUNTIME")}
}

func (s *site) ensure(spec sandbox.Spec) *sandbox.Container {
	s.t.Helper()
	container, err := s.Ensure(s.t.Context(), spec)
	if err != nil {
		s.t.Fatal(err)
	}
	return container
}

// sh runs a shell command in a room and returns its output.
func (s *site) sh(c *sandbox.Container, command string) string {
	s.t.Helper()
	result, err := c.Exec(s.t.Context(), sandbox.Cmd{Argv: []string{"sh", "-c", command}})
	if err != nil || result.Code != 0 {
		s.t.Fatalf("%s: %+v, %v", command, result, err)
	}
	return strings.TrimSpace(string(result.Stdout))
}

// operate runs deploy/kube-test/cluster.
func operate(t testing.TB, verb string, args ...string) string {
	t.Helper()
	argv := append([]string{verb, os.Getenv("MATRIX_TUI_KUBE")}, args...)
	out, err := exec.Command("../../deploy/kube-test/cluster", argv...).CombinedOutput()
	if err != nil {
		t.Fatalf("cluster %v: %v: %s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

// nodeOf is the node of a room's pod.
func nodeOf(t testing.TB, c *sandbox.Container) string {
	return operate(t, "kubectl", "get", "pod", nameOf(c.Name), "-o", "jsonpath={.spec.nodeName}")
}

// eventually waits until something holds.
func eventually(t testing.TB, what string, holds func() bool) time.Duration {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		switch {
		case holds():
			return time.Since(begun)
		case time.Since(begun) > 3*time.Minute:
			t.Fatal("it does not happen: ", what)
		}
	}
}

// knock sends a token to the door, and returns its answer: 255 if it closes the connection without one.
func knock(t *testing.T, s *site, token string) byte {
	t.Helper()
	conn, err := tls.Dial("tcp", s.address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, token+"\n"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1)
	if n, _ := conn.Read(answer); n == 0 {
		return 255
	}
	return answer[0]
}
