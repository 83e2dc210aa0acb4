package sandbox

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The container's only way out is the socket in the gateway's directory. A connection made while nothing listens there
// is held.
func TestDoor(t *testing.T) {
	spec := testSpec(t)
	dir := testDoors.move(t, spec.Room)
	container := ensure(t, spec)
	for _, id := range []string{"first", "after-a-restart"} {
		start(t, container, id, "rm -f pipe; mkfifo pipe; exec 3<>pipe; echo hello >&3; nc 127.0.0.1 3128 <&3")
		socket := filepath.Join(dir, "sock")
		listener, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(socket, 0o666); err != nil {
			t.Fatal(err)
		}
		listener.(*net.UnixListener).SetDeadline(time.Now().Add(hung))
		var conn net.Conn
		for said := ""; said != "hello\n"; {
			if conn, err = listener.Accept(); err != nil {
				t.Fatal(err)
			}
			first := make([]byte, len("hello\n"))
			n, err := io.ReadFull(conn, first)
			switch said = string(first[:n]); {
			case said == "hello\n":
			case said == "GET /o": // the container offers a connection: see Rooms.Offer
				conn.Close()
			default:
				t.Fatalf("the gateway received %q, %v", said, err)
			}
		}
		io.WriteString(conn, "welcome")
		conn.Close()
		listener.Close() // and the socket is gone
		if out, status := follow(t, container, id); out != "welcome" {
			t.Errorf("the container received %q, %+v", out, status)
		}
	}
}
