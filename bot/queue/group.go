package queue

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
)

// Group is the goroutines that a bot waits for before it ends.
type Group struct {
	Context context.Context // of all work; it ends when the bot is told to stop
	Log     zerolog.Logger
	Open    atomic.Bool // workers may start: what the bot must know first is stored

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// Spawn runs f in a goroutine that Close waits for. It returns false if the group is closed.
func (g *Group) Spawn(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.work.Go(f)
	return true
}

// Start is Spawn for work about one event or room: a panic in it ends nothing else.
func (g *Group) Start(f func()) bool {
	return g.Spawn(func() {
		_ = g.Guard("", "working in the background", func() error {
			f()
			return nil
		})
	})
}

// Wait waits for what runs now.
func (g *Group) Wait() { g.work.Wait() }

// Close lets nothing start any more, and waits for what runs.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.Wait()
}

// Guard is [Recovered] with a log entry. A panic about one room must not end the process: the next process would meet
// it again. room may be "".
func (g *Group) Guard(room, what string, do func() error) error {
	var failed error
	err := Recovered(func() error {
		failed = do() // which may be a panic that is logged already
		return nil
	})
	if panicked := (*PanicError)(nil); errors.As(err, &panicked) {
		g.Log.Error().Str("room", room).Bytes("stack", panicked.Stack).Msg("panic while " + what)
		return err
	}
	return failed
}

// PanicError is a panic as an error. Its text may hold what somebody wrote, and so does not appear.
type PanicError struct{ Stack []byte }

func (e *PanicError) Error() string { return "panic" }

// Recovered calls do and returns a panic in it as a *PanicError: one event must not stop all rooms.
func Recovered(do func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = &PanicError{debug.Stack()}
		}
	}()
	return do()
}

// IsPanic reports whether an error is, or contains, a panic.
func IsPanic(err error) bool { return errors.As(err, new(*PanicError)) }
