package gateway

import (
	"context"
	"io"
	"time"
)

// watch cancels a request if no byte has come from either side for the idle time.
type watch struct {
	idle   time.Duration
	timer  *time.Timer
	cancel context.CancelFunc
}

func newWatch(parent context.Context, idle time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancel(parent)
	return ctx, &watch{idle: idle, timer: time.AfterFunc(idle, cancel), cancel: cancel}
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel()
}

// body wraps b; each read that returns data restarts the timer.
func (w *watch) body(b io.ReadCloser) io.ReadCloser { return watched{b, w} }

type watched struct {
	io.ReadCloser
	w *watch
}

// Read restarts the timer.
func (b watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.w.timer.Reset(b.w.idle)
	}
	return n, err
}
