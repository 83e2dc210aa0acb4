package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
)

// ListenError is an address that the bot cannot listen on.
type ListenError struct {
	Address string
	Err     error
}

func (e *ListenError) Error() string { return fmt.Sprintf("listen on %s: %v", e.Address, e.Err) }
func (e *ListenError) Unwrap() error { return e.Err }

// Sentence is for the operator.
func (e *ListenError) Sentence() string {
	why := e.Err
	var call *os.SyscallError
	var dns *net.DNSError
	switch {
	case errors.Is(e.Err, syscall.EADDRINUSE):
		return fmt.Sprintf("API_LISTEN is %s, but another program is already listening there: stop it, or choose another port.", e.Address)
	case errors.Is(e.Err, syscall.EACCES):
		return fmt.Sprintf("API_LISTEN is %s, but the bot's user may not use that port: choose one above 1023.", e.Address)
	case errors.Is(e.Err, syscall.EADDRNOTAVAIL):
		return fmt.Sprintf("API_LISTEN is %s, which is not an address of this host: choose one that is, such as 127.0.0.1.", e.Address)
	case errors.As(e.Err, &dns):
		return fmt.Sprintf("API_LISTEN is %s, and that name has no address: use an address of this host, such as 127.0.0.1.", e.Address)
	case errors.As(e.Err, &call):
		why = call.Err
	}
	return fmt.Sprintf("Cannot listen on API_LISTEN (%s): %v.", e.Address, why)
}

// Listen listens on the address; a *ListenError says what is wrong with it.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &ListenError{address, err}
	}
	return ln, nil
}

// bounded is a listener with a maximum number of connections.
type bounded struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	once  sync.Once
}

func newBounded(ln net.Listener, most int) *bounded {
	return &bounded{Listener: ln, slots: make(chan struct{}, most), done: make(chan struct{})}
}

// Accept first waits for a slot.
func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.slots <- struct{}{}:
	case <-b.done:
		return nil, net.ErrClosed
	}
	conn, err := b.Listener.Accept()
	if err != nil {
		<-b.slots
		return nil, err
	}
	return &slotted{Conn: conn, leave: sync.OnceFunc(func() { <-b.slots })}, nil
}

func (b *bounded) Close() error {
	b.once.Do(func() { close(b.done) })
	return b.Listener.Close()
}

// slotted is a connection that releases its slot when it is closed.
type slotted struct {
	net.Conn
	leave func()
}

func (s *slotted) Close() error {
	defer s.leave()
	return s.Conn.Close()
}
