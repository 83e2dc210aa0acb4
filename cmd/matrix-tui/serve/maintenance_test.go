package serve

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/state"
)

// In maintenance, the bot needs no settings and leaves the state folder to others, until it is to end.
func TestMaintenance(t *testing.T) {
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan clitest.Played, 1)
	go func() {
		ended <- clitest.Play(t, ctx, []cli.Command{{Name: "run", Run: Run}}, []string{"STATE_DIR=" + dir, "MAINTENANCE=true"}, "run")
	}()
	if err := socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 1<<10)
	if n, err := socket.Read(data); err != nil || !strings.Contains(string(data[:n]), "READY=1") {
		t.Fatalf("told %q, %v", data[:n], err)
	}
	lock, err := state.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	stop()
	if got := <-ended; got.Code != 0 || !strings.Contains(got.Stderr, "MAINTENANCE is set") {
		t.Errorf("%+v", got)
	}
}
