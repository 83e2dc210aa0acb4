package gateway

import (
	"context"
	"net"
	"sync"
	"time"
)

// listener accepts as many connections at a time as its share allows. More wait in the kernel's queue.
type listener struct {
	*net.UnixListener
	share share
	open  context.Context // ends with Close
	end   context.CancelFunc
	idle  time.Duration
}

// Accept waits for a slot, then for a connection.
//
//lint:hides it calls AcceptUnix, which is the same
func (l *listener) Accept() (net.Conn, error) {
	free, err := l.share.take(l.open)
	if err != nil {
		return nil, net.ErrClosed
	}
	c, err := l.AcceptUnix()
	if err != nil {
		free()
		return nil, err
	}
	return &conn{UnixConn: c, free: free, unread: min(l.idle, maxUnread)}, nil
}

// Close ends Accept. The socket file stays and refuses connections, so that the
// container waits.
func (l *listener) Close() error {
	l.end()
	return l.UnixListener.Close()
}

// conn releases its slot when it is closed, and limits how long a write waits for a
// container that has stopped reading.
type conn struct {
	*net.UnixConn
	once   sync.Once
	free   func()
	unread time.Duration
}

// Write waits at most for the time that an answer may be unread.
func (c *conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.unread)); err != nil {
		return 0, err
	}
	return c.UnixConn.Write(p)
}

// Close releases the slot once.
func (c *conn) Close() error {
	defer c.once.Do(c.free)
	return c.UnixConn.Close()
}
