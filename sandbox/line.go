package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/sandbox/boxinit"
)

const (
	// lineIdle is how long a line stays open after its last use.
	lineIdle = 30 * time.Second
	// lineAnswers is how long a line may take to show that it still works: it does not in a paused container, for example.
	lineAnswers = time.Second
	// maxReply bounds the reply to a command, in bytes.
	maxReply = 8 << 20
)

// Exit codes of a container that has no `boxinit attend`, because its image is older or the agent has removed it.
const (
	exitUsage         = 2
	exitNotExecutable = 126
	exitNoProgram     = 127
)

var (
	errLineGone = fmt.Errorf("the line to the container is gone: %w", ErrUnreachable)
	errNoAttend = errors.New("the container has no boxinit attend")
)

// line is `boxinit attend` in a container: it carries out one request after the other. A podman exec
// takes about 90 ms of processor time.
type line struct {
	in   io.Writer
	stop context.CancelFunc
	gone chan struct{} // closed when the command has ended
	err  error         // readable after gone
	// strength is what boxinit has verified: on a weaker line it starts no run.
	strength string
	offered  bool // by the container: each request says what the container must be like

	now      atomic.Pointer[exchange]
	answered atomic.Bool // it has answered a request
	idle     *time.Timer // closes it; nil while it is in use
}

// exchange is a request that is being carried out.
type exchange struct {
	stdout, stderr io.Writer
	over           func() bool // whether everything has arrived
	done           chan struct{}
}

// stream passes on what arrives on stdout or stderr.
type stream struct {
	line *line
	to   func(*exchange) io.Writer
}

// Write is called by one goroutine. What nobody has asked for is dropped.
func (s stream) Write(b []byte) (int, error) {
	x := s.line.now.Load()
	if x == nil {
		return len(b), nil
	}
	n, err := s.to(x).Write(b)
	if err == nil && x.over() {
		s.line.now.Store(nil)
		close(x.done)
	}
	return n, err
}

// line returns a line that works. The caller gives it back, or closes it.
func (c *Container) line(ctx context.Context) (*line, error) {
	if l := c.podman.lines.take(ctx, c.ID); l != nil && l.strength == c.strength {
		return l, nil
	} else if l != nil {
		l.close()
	}
	if l := c.offeredLine(ctx); l != nil {
		return l, nil
	}
	return c.openLine(ctx)
}

// openLine opens a line and waits until it works.
func (c *Container) openLine(ctx context.Context) (*line, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	input, in := io.Pipe()
	l := &line{in: in, stop: stop, gone: make(chan struct{}), strength: c.strength}
	argv := []string{c.init, "attend"}
	if c.strength != "" {
		argv = append(argv, c.strength)
	}
	go func() {
		defer close(l.gone)
		said := bounded{left: maxStatus}
		code, err := c.podman.attach(life, c.ID, process{
			argv: argv, dir: "/", stdin: input, hold: true,
			stdout: stream{l, func(x *exchange) io.Writer { return x.stdout }},
			stderr: io.MultiWriter(&said, stream{l, func(x *exchange) io.Writer { return x.stderr }}),
		})
		input.CloseWithError(errLineGone)
		text := strings.TrimSpace(said.kept.String())
		if l.answered.Load() {
			text = ofRuntime(text) // the rest may be about runs
		}
		l.err = unattended(code, text, err)
	}()
	if err := l.ping(ctx); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// ofRuntime returns a text from the first line that Go's runtime has printed, or "".
func ofRuntime(text string) string {
	const mark = "\nruntime:"
	at := strings.Index("\n"+text, mark)
	if at < 0 {
		return ""
	}
	return text[at:]
}

// unattended returns why there is no line, from what executing the command has returned.
func unattended(code int, said string, err error) error {
	if err != nil {
		said = err.Error()
	}
	switch {
	// What it prints is lost if it ends before podman has passed on the first request. A Go program that gets no thread
	// ends with the same code.
	case code == exitUsage && !strings.HasPrefix(said, "runtime:"),
		code == exitNotExecutable, code == exitNoProgram, strings.Contains(said, "no such file or directory"),
		strings.Contains(said, "executable file not found"):
		return fmt.Errorf("%w: %s", errNoAttend, said)
	case err != nil:
		return err
	case code == 0:
		return errLineGone
	case kindIn(said) == ErrExhausted:
		return fmt.Errorf("%w: exit code %d: %.500s", ErrExhausted, code, withoutStack(said))
	}
	return fmt.Errorf("exit code %d: %.500s", code, withoutStack(said))
}

// close closes the line and returns when nothing writes to an exchange any more. A run goes on.
func (l *line) close() {
	l.stop()
	<-l.gone
}

// do sends a request and waits until everything that belongs to the answer has arrived. After an error, the line is gone.
func (l *line) do(ctx context.Context, r boxinit.Request, x *exchange) error {
	if l.offered {
		r.Strength = l.strength
	}
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	x.done = make(chan struct{})
	l.now.Store(x)
	stop := context.AfterFunc(ctx, l.stop)
	defer stop()
	switch {
	case r.Run != nil:
		crash.Count("boxinit run")
	case r.Park != nil:
		crash.Count("boxinit park")
	case r.Exec != nil, r.Pipe != nil:
		crash.Count("boxinit exec")
	}
	_, _ = l.in.Write(append(data, '\n')) // if this fails, the line is about to go
	if r.Run != nil {
		crash.At("requested")
	}
	select {
	case <-x.done:
		if stop() {
			l.answered.Store(true)
			return nil
		}
		<-l.gone // ctx has ended while the answer arrived, and that ends the line
	case <-l.gone:
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return l.err
}

// ask is do for a request with a reply in one line.
func (l *line) ask(ctx context.Context, r boxinit.Request) (reply boxinit.Reply, err error) {
	out := bounded{left: maxReply}
	x := &exchange{stdout: &out, stderr: io.Discard, over: func() bool { return out.cut || bytes.HasSuffix(out.kept.Bytes(), []byte("\n")) }}
	if err := l.do(ctx, r, x); err != nil {
		return reply, err
	}
	if err := json.Unmarshal(out.kept.Bytes(), &reply); err != nil {
		l.close()
		return reply, fmt.Errorf("read reply: %w", err)
	}
	return reply, nil
}

func (l *line) ping(ctx context.Context) error {
	_, err := l.ask(ctx, boxinit.Request{})
	return err
}

// lines are those that nobody is using, at most one for each container.
type lines struct {
	mu     sync.Mutex
	open   map[string]*line // by the container's ID
	closed bool
}

// take returns a line that works, or nil.
func (ls *lines) take(ctx context.Context, id string) *line {
	ls.mu.Lock()
	l := ls.open[id]
	if l == nil || !l.idle.Stop() { // it is about to be closed
		ls.mu.Unlock()
		return nil
	}
	delete(ls.open, id)
	ls.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lineAnswers)
	defer cancel()
	if l.ping(ctx) != nil {
		l.close()
		return nil
	}
	return l
}

// give keeps a line for the next request.
func (ls *lines) give(id string, l *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.closed || ls.open[id] != nil {
		go l.close()
		return
	}
	if ls.open == nil {
		ls.open = map[string]*line{}
	}
	ls.open[id] = l
	l.idle = time.AfterFunc(lineIdle, func() { ls.drop(id, l) })
}

// drop closes an idle line.
func (ls *lines) drop(id string, l *line) {
	ls.mu.Lock()
	if ls.open[id] == l {
		delete(ls.open, id)
	}
	ls.mu.Unlock()
	l.close()
}

// close closes all that are not in use, and all that will be given back.
func (ls *lines) close() {
	ls.mu.Lock()
	open := ls.open
	ls.open, ls.closed = nil, true
	ls.mu.Unlock()
	for _, l := range open {
		l.idle.Stop()
		l.close()
	}
}
