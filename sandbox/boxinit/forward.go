package boxinit

import (
	"context"
	"io"
	"net"
	"sync"
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

// forwarder joins each TCP connection to its own connection to a unix socket. While nothing listens there, for example
// because the bot restarts, it holds the connection.
type forwarder struct{ Socket string }

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
			f.join(ctx, conn.(*net.TCPConn))
		})
	}
}

func (f forwarder) join(ctx context.Context, conn *net.TCPConn) {
	gateway := f.dial(ctx, conn)
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

// dial returns nil if the client went away or waited too long.
func (f forwarder) dial(ctx context.Context, client *net.TCPConn) *net.UnixConn {
	ctx, cancel := context.WithTimeout(ctx, holdLimit)
	defer cancel()
	var dialer net.Dialer
	tick := time.NewTicker(holdPoll)
	defer tick.Stop()
	for {
		conn, err := dialer.DialContext(ctx, "unix", f.Socket)
		if err == nil {
			return conn.(*net.UnixConn)
		}
		if gone(client) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// gone reports whether the other side has closed its connection, or its half of it: the two look alike, and a request
// whose client went away must not be sent, and paid for, later.
func gone(conn *net.TCPConn) bool {
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
