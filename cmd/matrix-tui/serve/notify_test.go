package serve

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

func TestSupervisorIsToldThatTheBotLives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "30000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	next := func(want string) {
		t.Helper()
		data := make([]byte, 1<<10)
		if err := socket.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		n, err := socket.Read(data)
		if err != nil || !strings.Contains(string(data[:n]), want) {
			t.Fatalf("told %q, %v; want %q", data[:n], err, want)
		}
	}
	s, ready := supervisor{zerolog.Nop()}, make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	var ill atomic.Bool
	asked, done := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(done)
		s.watch(ctx, ready, func(context.Context) error {
			asked <- struct{}{}
			if ill.Load() {
				return errors.New("ill")
			}
			return nil
		}, func() string {
			if ill.Load() {
				return "a person is needed"
			}
			return ""
		})
	}()
	next("STATUS=starting")
	s.ready()
	next("READY=1")
	close(ready)
	<-asked
	next("WATCHDOG=1\nSTATUS=serving")
	ill.Store(true)
	for range 3 { // one of them may have been asked before
		<-asked
	}
	stop()
	<-done
	s.stopping()
	for range 3 {
		data := make([]byte, 1<<10)
		n, err := socket.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data[:n]), "STOPPING=1") {
			return
		}
	}
	t.Error("an unhealthy bot still notifies the watchdog")
}
