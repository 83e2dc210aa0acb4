package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// watchdog stands in for systemd's: it receives what a bot reports, and knows for how long it has heard no sign of life
// since the bot was ready. Close ends it.
type watchdog struct {
	socket *net.UnixConn
	work   sync.WaitGroup

	mu      sync.Mutex
	last    time.Time // the newest sign of life, or zero before the bot is ready
	longest time.Duration
}

// watch makes the next process report to a watchdog, once a second.
func (s *scene) watch() (*watchdog, error) {
	path := filepath.Join(s.Dir(), "notify.sock")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listen for the bot's signs of life: %w", err)
	}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listen for the bot's signs of life: %w", err)
	}
	w := &watchdog{socket: socket}
	w.work.Go(w.hear)
	s.Set(map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "3000000"}) // it reports three times as often
	return w, nil
}

func (w *watchdog) hear() {
	said := make([]byte, 1<<10)
	for {
		n, err := w.socket.Read(said)
		if err != nil {
			return
		}
		w.mu.Lock()
		switch alive := bytes.Contains(said[:n], []byte("WATCHDOG=1")); {
		case bytes.Contains(said[:n], []byte("READY=1")):
			w.last = time.Now()
		case alive && !w.last.IsZero():
			w.longest = max(w.longest, time.Since(w.last))
			w.last = time.Now()
		}
		w.mu.Unlock()
	}
}

// silence is the longest time without a sign of life until now, from ready on.
func (w *watchdog) silence() (time.Duration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last.IsZero() {
		return 0, errors.New("the bot has not told the watchdog that it is ready")
	}
	return max(w.longest, time.Since(w.last)), nil
}

// close adds its error to the error of the function that defers it.
func (w *watchdog) close(err *error) {
	*err = errors.Join(*err, w.socket.Close())
	w.work.Wait()
}
