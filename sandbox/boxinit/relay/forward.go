package relay

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// holdLimit is how long a connection waits for the gateway to come back.
	holdLimit = 10 * time.Minute
	holdPoll  = 50 * time.Millisecond
	// forwardMax bounds the number of open connections; more wait to be accepted.
	forwardMax = 512
)

// stream is a connection of which each direction can end before the other.
type stream interface {
	net.Conn
	CloseWrite() error
}

// client is the connection of a program in the container: TCP or unix.
type client interface {
	stream
	CloseRead() error
	SyscallConn() (syscall.RawConn, error)
}

// forwarder joins each connection to its own connection to the gateway. While the gateway does not answer, for example
// because the bot restarts, it holds the connection.
type forwarder struct {
	// dial opens a connection to the gateway. errRefused is final.
	dial func(context.Context) (stream, error)
	// pauseMax is the longest pause before dial is called again; the first one is holdPoll.
	pauseMax time.Duration
}

// Forward joins each connection of the listener to one of its own to the gateway's socket, until ctx ends.
func Forward(ctx context.Context, listener net.Listener, socket string) {
	forwardTo(socket).serve(ctx, listener)
}

// forwardTo is a forwarder to a unix socket.
func forwardTo(socket string) forwarder {
	dial := func(ctx context.Context) (stream, error) {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "unix", socket)
		if err != nil {
			return nil, err
		}
		return conn.(*net.UnixConn), nil
	}
	return forwarder{dial, holdPoll}
}

func (f forwarder) serve(ctx context.Context, listener net.Listener) {
	places := make(chan struct{}, forwardMax)
	var open sync.WaitGroup
	defer open.Wait()
	for {
		places <- struct{}{}
		conn, err := listener.Accept()
		if err != nil {
			<-places
			if ctx.Err() != nil {
				return
			}
			time.Sleep(holdPoll) // out of descriptors
			continue
		}
		open.Go(func() {
			defer func() { <-places }()
			defer conn.Close()
			f.join(ctx, conn.(client))
		})
	}
}

func (f forwarder) join(ctx context.Context, conn client) {
	gateway := f.reach(ctx, conn)
	if gateway == nil {
		return
	}
	defer gateway.Close()
	stop := context.AfterFunc(ctx, func() {
		conn.Close()
		gateway.Close()
	})
	defer stop()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(conn, gateway)
		conn.CloseWrite()
		// The gateway has finished; nothing will read what the client still sends.
		conn.CloseRead()
	})
	_, _ = io.Copy(gateway, conn)
	gateway.CloseWrite()
	back.Wait()
}

// reach returns nil if the gateway refused, the client went away or it waited too long.
func (f forwarder) reach(ctx context.Context, conn client) stream {
	ctx, cancel := context.WithTimeout(ctx, holdLimit)
	defer cancel()
	for pause := holdPoll; ; pause = min(2*pause, f.pauseMax) {
		gateway, err := f.dial(ctx)
		if err == nil {
			return gateway
		}
		if errors.Is(err, errRefused) || gone(conn) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause/2 + rand.N(pause/2)): // many that wait must not come at the same moment
		}
	}
}

// gone reports whether the other side has closed its connection, or its half of it: the two look alike, and a request
// whose client went away must not be sent, and paid for, later.
func gone(conn client) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, _ := unix.Poll(fds, 0)
		closed = n > 0
	})
	return closed || err != nil
}
