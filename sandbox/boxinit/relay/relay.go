// Package relay joins connections from a room's container to the bot's gateway: to its socket on the same host, or, in
// a pod, to the bot's door.
package relay

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The relay's environment.
const (
	// RelayDoor is the address and port of the bot's door.
	RelayDoor = "MATRIX_TUI_DOOR"
	// RelayCertificate is the bot's certificate, in PEM. The relay trusts no other.
	RelayCertificate = "MATRIX_TUI_DOOR_CERT"
	// RelayToken is the path of the pod's token, "" = DoorToken.
	RelayToken = "MATRIX_TUI_TOKEN"
)

// What a relay and the bot's door agree on: the relay sends its token and a newline, and the bot answers with one byte.
// It answers nothing if it cannot say, and the relay tries again.
const (
	// DoorToken is where a pod's relay finds its token.
	DoorToken = "/run/door/token"
	// DoorName is the name in the bot's certificate.
	DoorName = "matrix-tui"
	// MaxToken bounds a token, in bytes.
	MaxToken = 8 << 10
	// DoorWelcome says that the connection is joined to the gateway of the pod's room.
	DoorWelcome byte = 1
	// DoorRefused says that the bot takes no connection of this pod.
	DoorRefused byte = 0
)

const (
	reachTime   = time.Second      // for the bot's host to accept; a lost packet must not delay the way back
	welcomeTime = 20 * time.Second // for the bot's answer: it asks the cluster about the pod
	doorPause   = 500 * time.Millisecond
	// A turn is one connection to the bot, and at least this long, so that an agent cannot keep the bot busy with them.
	maxTurns, turnTime = 32, 100 * time.Millisecond
	complaintPause     = time.Minute
)

var errRefused = errors.New("the bot refuses this pod")

var errBusy = errors.New("too many connections are being opened")

// relay opens connections to the bot's door.
type relay struct {
	door, token string
	config      *tls.Config
	turns       chan struct{}

	mu        sync.Mutex
	complaint time.Time // the last one
	stderr    io.Writer
}

// Run is `boxinit relay`, a container of its own in a room's pod. It listens on the gateway's socket, which the room's
// container mounts, and joins each connection to the bot's door. It looks at nothing that they carry.
func Run(socket string, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()
	r, err := newRelay(os.Getenv(RelayDoor), os.Getenv(RelayCertificate), os.Getenv(RelayToken), stderr)
	if err != nil {
		return err
	}
	listener, err := offerSocket(socket)
	if err != nil {
		return fmt.Errorf("offer the gateway's socket: %w", err)
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	forwarder{r.dial, doorPause}.serve(ctx, listener)
	return nil
}

func newRelay(door, certificate, token string, stderr io.Writer) (*relay, error) {
	if _, err := netip.ParseAddrPort(door); err != nil {
		return nil, fmt.Errorf("read %s: %w", RelayDoor, err)
	}
	block, _ := pem.Decode([]byte(certificate))
	if block == nil {
		return nil, fmt.Errorf("read %s: want a certificate in PEM", RelayCertificate)
	}
	only, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", RelayCertificate, err)
	}
	if token == "" {
		token = DoorToken
	}
	roots := x509.NewCertPool()
	roots.AddCert(only)
	config := &tls.Config{RootCAs: roots, ServerName: DoorName, MinVersion: tls.VersionTLS13}
	return &relay{door: door, token: token, config: config, turns: make(chan struct{}, maxTurns), stderr: stderr}, nil
}

// offerSocket creates a socket that every user of the room's container may connect to. It gets its final name only when
// it is usable, and replaces the socket of an earlier relay.
func offerSocket(path string) (*net.UnixListener, error) {
	fresh := filepath.Join(filepath.Dir(path), "new")
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false)
	if err = os.Chmod(fresh, 0o666); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		listener.Close()
		return nil, err
	}
	return listener, nil
}

// dial waits for a turn and opens a connection on which the bot has said that the pod is welcome.
func (r *relay) dial(ctx context.Context) (stream, error) {
	select {
	case r.turns <- struct{}{}:
	case <-time.After(doorPause):
		return nil, errBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer time.AfterFunc(turnTime, func() { <-r.turns })
	dialer := net.Dialer{Timeout: reachTime, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	raw, err := dialer.DialContext(ctx, "tcp", r.door)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	conn := tls.Client(raw, r.config)
	err = r.enter(conn)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	return line{conn}, nil
}

// enter proves to the bot which pod this is.
func (r *relay) enter(conn *tls.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(welcomeTime)); err != nil {
		return err
	}
	if err := conn.Handshake(); err != nil {
		var other *tls.CertificateVerificationError
		if errors.As(err, &other) {
			r.complain("what answers at the bot's address is not the bot: " + other.Err.Error())
		}
		return err
	}
	token, err := readToken(r.token)
	if err != nil {
		r.complain(err.Error())
		return err
	}
	if _, err := conn.Write(append(token, '\n')); err != nil {
		return err
	}
	var answer [1]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return err
	}
	switch answer[0] {
	case DoorWelcome:
		return conn.SetDeadline(time.Time{})
	case DoorRefused:
		r.complain(errRefused.Error())
		return errRefused
	}
	return fmt.Errorf("the bot answers %d", answer[0])
}

// complain tells whoever reads the container's log, at most once a minute.
func (r *relay) complain(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.complaint.IsZero() || time.Since(r.complaint) >= complaintPause {
		r.complaint = time.Now()
		fmt.Fprintln(r.stderr, "boxinit:", text)
	}
}
