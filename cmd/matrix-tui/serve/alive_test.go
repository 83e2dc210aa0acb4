package serve

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/cmd/matrix-tui/control"
)

var aliveCommands = []cli.Command{{Name: "alive", Run: Alive}}

func TestAlive(t *testing.T) {
	dir := t.TempDir()
	ask := func(ctx context.Context, more ...string) clitest.Played {
		t.Helper()
		return clitest.Play(t, ctx, aliveCommands, append([]string{"STATE_DIR=" + dir}, more...), "alive")
	}
	if got := ask(t.Context()); got.Code != 1 || !strings.Contains(got.Stderr, "reach the bot") {
		t.Errorf("no bot: %+v", got)
	}
	if got := ask(t.Context(), "MAINTENANCE=true"); got.Code != 0 {
		t.Errorf("in maintenance: %+v", got)
	}

	ready, ill := make(chan struct{}), errors.New("no progress with syncing")
	var is atomic.Pointer[error]
	bot := control.Control{Alive: once(ready, func(ctx context.Context) error {
		if errors.Is(*is.Load(), context.DeadlineExceeded) {
			<-ctx.Done()
		}
		return *is.Load()
	})}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- control.ServeControl(ctx, dir, bot, zerolog.Nop()) }()
	for { // until it listens
		if conn, err := net.Dial("unix", filepath.Join(dir, "control.sock")); err == nil {
			conn.Close()
			break
		}
	}
	is.Store(&ill)
	if got := ask(t.Context()); got.Code != 0 {
		t.Errorf("a bot that starts: %+v", got)
	}
	close(ready)
	if got := ask(t.Context()); got.Code != 1 || !strings.Contains(got.Stderr, ill.Error()) {
		t.Errorf("a bot that is stuck: %+v", got)
	}
	is.Store(new(error))
	if got := ask(t.Context()); got.Code != 0 || got.Stdout+got.Stderr != "" {
		t.Errorf("a bot that works: %+v", got)
	}
	is.Store(&context.DeadlineExceeded)
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := ask(soon); got.Code != 1 || !strings.Contains(got.Stderr, "does not answer") {
		t.Errorf("a bot that does not answer: %+v", got)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
