package gateway

import (
	"net"
	"sync"
	"time"
)

// listener hands out at most cap(slots) connections at a time. What does not fit waits in the kernel's queue.
type listener struct {
	*net.UnixListener
	slots chan struct{}
	done  chan struct{}
	once  sync.Once
	idle  time.Duration
}

// Accept waits for a slot, then for a connection.
//
//lint:hides it calls AcceptUnix, which is the same
func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.AcceptUnix()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &conn{UnixConn: c, free: func() { <-l.slots }, idle: l.idle}, nil
}

// Close ends Accept. The socket's file stays: it refuses, and the container waits.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.UnixListener.Close()
}

// conn gives its slot back when it is closed, and does not wait for ever for a container that stopped reading.
type conn struct {
	*net.UnixConn
	once sync.Once
	free func()
	idle time.Duration
}

// Write waits no longer than idle.
func (c *conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.UnixConn.Write(p)
}

// Close frees the slot once.
func (c *conn) Close() error {
	defer c.once.Do(c.free)
	return c.UnixConn.Close()
}
