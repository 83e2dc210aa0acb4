package gateway

import (
	"net"
	"sync"
	"time"
)

// listener accepts at most cap(slots) connections at a time. More wait in the kernel's
// queue.
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

// Close ends Accept. The socket file stays and refuses connections, so that the
// container waits.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.UnixListener.Close()
}

// conn releases its slot when it is closed, and limits how long a write waits for a
// container that has stopped reading.
type conn struct {
	*net.UnixConn
	once sync.Once
	free func()
	idle time.Duration
}

// Write waits at most for the idle time.
func (c *conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.UnixConn.Write(p)
}

// Close releases the slot once.
func (c *conn) Close() error {
	defer c.once.Do(c.free)
	return c.UnixConn.Close()
}
