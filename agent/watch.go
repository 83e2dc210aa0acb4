package agent

import (
	"sync"
	"time"
)

// If nothing arrives for slowAfter while no tool is running, the room is told that the
// model is slow; then again every slowAgain. A tool may print nothing for slowAgain first.
const slowAfter, slowAgain = 20 * time.Second, time.Minute

// watch is a stream that also detects silence. It emits one event at a time.
type watch struct {
	mu     sync.Mutex
	stream *stream
	emit   func(Event)
	flood  func()    // called when the stream is flooded, perhaps more than once
	last   time.Time // time of the last output
	timer  *time.Timer
	closed bool
}

func newWatch(emit func(Event)) *watch {
	if emit == nil {
		emit = func(Event) {}
	}
	w := &watch{stream: &stream{emit: emit}, emit: emit, last: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(slowAfter, w.silence)
	return w
}

// Write processes the next bytes of the run's output; it never fails.
func (w *watch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(p) > 0 && !w.closed {
		w.last = time.Now()
		w.timer.Reset(slowAfter)
	}
	n, err := w.stream.Write(p)
	if w.stream.flooded && w.flood != nil {
		w.flood()
	}
	return n, err
}

// onFlood sets what to call when the run prints more than a run may.
func (w *watch) onFlood(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flood = do
}

// offset is the number of bytes read so far; of a flood, of which nothing more is wanted,
// it is beyond the end.
func (w *watch) offset() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stream.flooded {
		return 1 << 40
	}
	return w.stream.written
}

// close ends the events about silence; the stream can be read afterwards.
func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.timer.Stop()
}

func (w *watch) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	quiet := time.Since(w.last)
	if w.closed || quiet < slowAfter { // output has just come, and has set the timer
		return
	}
	kind := EventSlow
	if w.stream.busy() {
		kind = EventSilent
	}
	if kind == EventSilent && quiet < slowAgain {
		w.timer.Reset(slowAgain - quiet)
		return
	}
	w.timer.Reset(slowAgain)
	w.emit(Event{Kind: kind, Quiet: quiet})
}
