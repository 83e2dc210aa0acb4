package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// door starts a forwarder to a socket where nothing listens yet.
func door(t *testing.T) (address, socket string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(t.TempDir(), "sock")
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() { forwardTo(socket).serve(ctx, listener) })
	t.Cleanup(func() {
		cancel()
		listener.Close()
		served.Wait() // it ends, with all its connections
	})
	return listener.Addr().String(), socket
}

// echo reads each connection to its end, then sends everything back.
func echo(t *testing.T, socket string) net.Listener {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				text, _ := io.ReadAll(conn)
				io.WriteString(conn, "echo "+string(text))
			}()
		}
	}()
	return listener
}

func askDoor(t *testing.T, address, text string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

func hear(t *testing.T, conn *net.TCPConn) string {
	t.Helper()
	text, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestForward(t *testing.T) {
	address, socket := door(t)
	echo(t, socket)
	big := strings.Repeat("0123456789", 100_000)
	conn := askDoor(t, address, big)
	conn.CloseWrite()
	if got := hear(t, conn); got != "echo "+big {
		t.Errorf("%d bytes", len(got))
	}
}

// A connection made while nothing listens is held until something does, also after the gateway went away and came back
// at the same path.
func TestForwardHolds(t *testing.T) {
	address, socket := door(t)
	for range 2 {
		conn := askDoor(t, address, "hello")
		quick := time.Now().Add(3 * holdPoll)
		conn.SetReadDeadline(quick)
		var one [1]byte
		if n, err := conn.Read(one[:]); err == nil || errors.Is(err, io.EOF) {
			t.Fatalf("not held: %d, %v", n, err)
		}
		conn.SetReadDeadline(time.Now().Add(5 * time.Minute))
		gateway, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		there, err := gateway.Accept()
		if err != nil {
			t.Fatal(err)
		}
		var five [5]byte
		if _, err := io.ReadFull(there, five[:]); err != nil || string(five[:]) != "hello" {
			t.Fatalf("%q, %v", five, err)
		}
		io.WriteString(there, "hi")
		there.Close()
		if got := hear(t, conn); got != "hi" {
			t.Errorf("%q", got)
		}
		gateway.Close()
	}
}

// The connection of a client that went away is dropped and blocks no other.
func TestForwardForgets(t *testing.T) {
	address, socket := door(t)
	for range forwardMax + 10 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	echo(t, socket)
	conn := askDoor(t, address, "hello")
	conn.CloseWrite()
	if got := hear(t, conn); got != "echo hello" {
		t.Errorf("%q", got)
	}
}
