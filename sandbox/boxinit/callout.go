package boxinit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// AttendPath is the path of the request with which PID 1 offers the gateway a connection for requests of the bot. After
// "101 Switching Protocols" it carries requests in one direction, as `boxinit attend` reads them, and frames in the other:
// see [FrameHeader].
const AttendPath = "/boxinit"

// ParkedHeader is the field of that request which says that a run is parked, and when it ends on its own, in seconds since
// 1970.
const ParkedHeader = "Parked-Until"

// FrameHeader is the length of a frame's header: 1 for stdout or 2 for stderr, and the length of what follows, as four
// bytes with the highest first.
const FrameHeader = 5

const (
	callPause    = 250 * time.Millisecond // before a call is repeated; it doubles while nobody answers
	callPauseMax = 8 * time.Second
	refusedPause = time.Minute      // the same if the gateway does not know the path
	callTime     = 10 * time.Second // for an answer
	maxCallReply = 4 << 10          // bytes
)

var errRefused = errors.New("the gateway does not take the connection")

// callOut keeps a connection to the gateway open on which the bot can send requests, without podman. When one comes, a
// child serves it, and the next connection is opened.
func (p *Program) callOut(ctx context.Context) {
	for failed := callPause; ctx.Err() == nil; {
		pause := callPause
		conn, err := callGateway(ctx, store{p.Dir}.parkedUntil())
		switch {
		case err == nil:
			if asked(conn) {
				p.serveOn(conn)
				pause = 0
			}
			conn.Close()
			failed = callPause
		case errors.Is(err, errRefused):
			pause = refusedPause
		default:
			pause, failed = failed, min(2*failed, callPauseMax)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// callGateway opens a connection, and says until when a run is parked, if parked is not zero.
func callGateway(ctx context.Context, parked time.Time) (*net.UnixConn, error) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unix", GatewaySocket)
	if err != nil {
		return nil, err
	}
	conn := c.(*net.UnixConn)
	if err := offer(conn, parked); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// offer sends the request and reads the answer, and not a byte more.
func offer(conn *net.UnixConn, parked time.Time) error {
	if err := conn.SetDeadline(time.Now().Add(callTime)); err != nil {
		return err
	}
	request := "GET " + AttendPath + " HTTP/1.1\r\nHost: boxinit\r\nConnection: Upgrade\r\nUpgrade: boxinit\r\n"
	if !parked.IsZero() {
		request += fmt.Sprintf("%s: %d\r\n", ParkedHeader, parked.Unix())
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return err
	}
	var reply []byte
	for one := make([]byte, 1); !strings.HasSuffix(string(reply), "\r\n\r\n"); {
		if _, err := conn.Read(one); err != nil {
			return err
		}
		if reply = append(reply, one[0]); len(reply) > maxCallReply {
			return errRefused
		}
	}
	if !strings.HasPrefix(string(reply), "HTTP/1.1 101 ") {
		return errRefused
	}
	return conn.SetDeadline(time.Time{})
}

// asked waits for the first byte of a request, which it does not read. It returns false if the connection is closed.
func asked(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = raw.Read(func(fd uintptr) bool {
		var failed error
		n, _, failed = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return !errors.Is(failed, unix.EAGAIN) && !errors.Is(failed, unix.EINTR)
	})
	return err == nil && n > 0
}

// serveOn starts a child that serves the connection. PID 1 reaps it.
func (p *Program) serveOn(conn *net.UnixConn) {
	file, err := conn.File()
	if err != nil {
		return
	}
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer null.Close()
	child, err := os.StartProcess(p.Self[0], append(append([]string{"boxinit"}, p.Self[1:]...), "attend", "-framed"), &os.ProcAttr{Dir: "/", Files: []*os.File{file, null, null}})
	if err != nil {
		fmt.Fprintln(p.Stderr, "boxinit: serve the bot:", err)
		return
	}
	_ = child.Release()
}

// frames writes both streams to one connection.
type frames struct {
	mu sync.Mutex
	to io.Writer
}

// frameWriter is one of the streams.
type frameWriter struct {
	frames *frames
	number byte
}

// Write sends b as one frame.
func (w frameWriter) Write(b []byte) (int, error) {
	w.frames.mu.Lock()
	defer w.frames.mu.Unlock()
	head := [FrameHeader]byte{w.number}
	binary.BigEndian.PutUint32(head[1:], uint32(len(b)))
	if _, err := w.frames.to.Write(append(head[:], b...)); err != nil {
		return 0, err
	}
	return len(b), nil
}
