package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox/boxinit"
	"matrix-tui/sandbox/boxinit/relay"
	"matrix-tui/sandbox/gateway"
)

// The test binary is also the relay, so that relays are real processes.
func init() {
	if socket := os.Getenv("KUBE_TEST_RELAY"); socket != "" {
		p := boxinit.Program{Gateway: socket, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
		os.Exit(p.Main([]string{"relay"}))
	}
}

// soon is how long something may take that takes no time on an idle machine.
const soon = 30 * time.Second

const denRoom, otherRoom = "!den:example.org", "!other:example.org"

// theToken is what no log may contain.
const theToken = "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOlsibWF0cml4LXR1aSJdfQ.c2VjcmV0"

const podPath = "/api/v1/namespaces/rooms/pods/den"

const boxPath = "/apis/agents.x-k8s.io/v1beta1/namespaces/rooms/sandboxes/den"

// offer is a connection that a room's container has offered to the bot.
type offer struct {
	room string
	conn net.Conn
}

// world is a cluster and a bot with a gateway and a door.
type world struct {
	*cluster
	t       *testing.T
	door    *Door
	public  []byte // the door's certificate
	address string
	offers  chan offer
	logs    *shared
	end     func() // of the door
}

func newWorld(t *testing.T, change ...func(*Door)) *world {
	t.Helper()
	w := &world{cluster: newCluster(), t: t, offers: make(chan offer, 1000), logs: &shared{}}
	server := httptest.NewServer(w.cluster)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	log := zerolog.New(w.logs)
	rooms := gateway.New(gateway.Config{Dir: filepath.Join(short(t), "g"), Log: log})
	rooms.Attend(boxinit.OperationPath, boxinit.ParkedHeader, func(room string, conn net.Conn, _ string) {
		w.offers <- offer{room, conn}
	})
	t.Cleanup(func() { rooms.Close(t.Context()) })
	join := func(ctx context.Context, room string) (net.Conn, error) {
		dir, err := rooms.Open(room)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "sock"))
	}
	certificate, public, err := Certificate(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w.public = public
	w.door = NewDoor(&api{http: server.Client(), base: base, namespace: "rooms"}, certificate, "matrix-tui", join, log)
	for _, do := range change {
		do(w.door)
	}
	w.open("127.0.0.1:0")
	t.Cleanup(func() {
		w.end()
		for _, secret := range []string{theToken, "forged", "PRIVATE KEY"} {
			if text := w.logs.String(); strings.Contains(text, secret) {
				t.Errorf("%s is in the log:\n%s", secret, text)
			}
		}
	})
	return w
}

// open starts the door.
func (w *world) open(address string) {
	w.t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.door.Serve(ctx, listener) }()
	w.end = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil || w.joined() != 0 || len(w.door.strangers) != 0 || len(w.door.sources.of) != 0 {
				w.t.Errorf("the door ends with %v, %d joined, %d strangers", err, w.joined(), len(w.door.strangers))
			}
		case <-time.After(soon):
			w.t.Error("the door does not end")
		}
	})
}

// told are the connections that the door's log tells of.
type told struct{ welcomed, refused, failed int }

func (w *world) told() told {
	text := w.logs.String()
	return told{strings.Count(text, "a pod's connection joined"), strings.Count(text, "a pod was refused"),
		strings.Count(text, "a pod's connection failed")}
}

// joined is how many connections are joined now.
func (w *world) joined() (n int) {
	w.door.lines.mu.Lock()
	defer w.door.lines.mu.Unlock()
	for _, of := range w.door.lines.of {
		n += of
	}
	return n
}

// offered waits for what a container has offered.
func (w *world) offered() offer {
	w.t.Helper()
	select {
	case o := <-w.offers:
		w.t.Cleanup(func() { o.conn.Close() })
		o.conn.SetDeadline(time.Now().Add(soon))
		return o
	case <-time.After(soon):
		w.t.Fatalf("nothing is offered; the log is:\n%s", w.logs)
		panic("")
	}
}

// dial connects to the door as a relay does.
func (w *world) dial() *tls.Conn {
	w.t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.public)
	raw, err := net.Dial("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { raw.Close() })
	raw.SetDeadline(time.Now().Add(soon))
	return tls.Client(raw, &tls.Config{RootCAs: roots, ServerName: "matrix-tui"})
}

// answer returns what the door answers to a line: "welcome", "refused" or "nothing".
func (w *world) answer(line string) string {
	w.t.Helper()
	conn := w.dial()
	if _, err := io.WriteString(conn, line); err != nil {
		w.t.Fatal(err)
	}
	return heard(conn)
}

func heard(conn io.Reader) string {
	var one [1]byte
	switch _, err := io.ReadFull(conn, one[:]); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "late"
	case err != nil:
		return "nothing"
	case one[0] == relay.DoorWelcome:
		return "welcome"
	case one[0] == relay.DoorRefused:
		return "refused"
	}
	return fmt.Sprint(one)
}

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

func (w *world) wait(what string, is func() bool) {
	w.t.Helper()
	for end := time.Now().Add(soon); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("no %s; the log is:\n%s", what, w.logs)
		}
	}
}

// short returns a folder whose path leaves room for a socket's name.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
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
