package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// A connection that is offered is given away with its room, and closed with the room's service.
func TestAttend(t *testing.T) {
	g := New(Config{Dir: t.TempDir(), Log: zerolog.Nop()})
	type offer struct {
		room  string
		conn  net.Conn
		value string
	}
	offers := make(chan offer, 1)
	g.Attend("/offer", "Field", func(room string, conn net.Conn, value string) { offers <- offer{room, conn, value} })
	dir, err := g.Open("!r")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(header string) (net.Conn, *http.Response) {
		t.Helper()
		conn, err := net.Dial("unix", filepath.Join(dir, "sock"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(time.Minute))
		io.WriteString(conn, "GET /offer HTTP/1.1\r\nHost: x\r\n"+header+"\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		return conn, answer
	}
	if _, answer := ask(""); answer.StatusCode != http.StatusNotFound {
		t.Errorf("without an upgrade: %s", answer.Status)
	}
	conn, answer := ask("Connection: Upgrade\r\nUpgrade: boxinit\r\nField: value\r\n")
	if answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(answer.Status)
	}
	got := <-offers
	if got.room != "!r" || got.value != "value" {
		t.Errorf("room %q, %q", got.room, got.value)
	}
	io.WriteString(got.conn, "ping")
	if data := make([]byte, 4); true {
		if _, err := io.ReadFull(conn, data); err != nil || string(data) != "ping" {
			t.Errorf("%q, %v", data, err)
		}
	}
	if err := g.Shut("!r"); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
		t.Errorf("after the room was shut: %q, %v", rest, err)
	}
	if _, err := got.conn.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("our side: %v", err)
	}
	if err := got.conn.Close(); err == nil {
		t.Error("it was not closed")
	}
}
