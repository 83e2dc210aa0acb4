package kube

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"matrix-tui/sandbox/boxinit"
	"matrix-tui/sandbox/boxinit/relay"
)

// process is a relay.
type process struct {
	t             *testing.T
	socket, token string
	stderr        *shared
	command       *exec.Cmd
}

// relay starts a relay, which trusts a certificate.
func (w *world) relay(certificate []byte) *process {
	w.t.Helper()
	dir := short(w.t)
	p := &process{t: w.t, socket: filepath.Join(dir, "sock"), token: filepath.Join(dir, "token"), stderr: &shared{}}
	p.rotate(theToken)
	p.command = exec.Command(os.Args[0])
	p.command.Stderr = p.stderr
	p.command.Env = append(os.Environ(), "KUBE_TEST_RELAY="+p.socket, relay.RelayDoor+"="+w.address,
		relay.RelayCertificate+"="+string(certificate), relay.RelayToken+"="+p.token)
	if err := p.command.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.command.Wait() }()
	w.t.Cleanup(func() {
		p.command.Process.Signal(os.Interrupt)
		select {
		case err := <-ended:
			if err != nil {
				w.t.Errorf("the relay ends with %v: %s", err, p.stderr)
			}
		case <-time.After(soon):
			w.t.Error("the relay does not end")
			p.command.Process.Kill()
			<-ended
		}
		if strings.Contains(p.stderr.String(), theToken) {
			w.t.Errorf("the token is in the relay's log: %s", p.stderr)
		}
	})
	w.wait("socket", func() bool { _, err := os.Stat(p.socket); return err == nil })
	return p
}

// rotate replaces the pod's token as the kubelet does.
func (p *process) rotate(token string) {
	p.t.Helper()
	if err := os.WriteFile(p.token+".new", []byte(token), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(p.token+".new", p.token); err != nil {
		p.t.Fatal(err)
	}
}

// offer connects to the relay's socket and asks what `boxinit connect` asks.
func (p *process) offer() *net.UnixConn {
	p.t.Helper()
	conn, err := net.Dial("unix", p.socket)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(soon))
	io.WriteString(conn, "GET "+boxinit.OperationPath+" HTTP/1.1\r\nHost: boxinit\r\nConnection: Upgrade\r\n"+
		"Upgrade: boxinit\r\n\r\n")
	return conn.(*net.UnixConn)
}

// shared is a buffer for several writers.
type shared struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *shared) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(data)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}
