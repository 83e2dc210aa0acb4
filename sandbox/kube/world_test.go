package kube

import (
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
