package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/sandbox/boxinit"
	"matrix-tui/state/retry"
)

const (
	// retryTime is how long calls that can safely be repeated wait for the engine to come back.
	retryTime = 10 * time.Second
	// operationTime bounds an operation that does not take as long as what somebody has started. Ending a parked run
	// that does not react takes 22 s.
	operationTime = time.Minute
)

// pauses returns the backoff between two calls of an engine.
func pauses() *retry.Backoff { return retry.New(100*time.Millisecond, 2*time.Second) }

// operation is one in a container. Each has a connection of its own, on which everything comes from a container that
// may be hostile.
type operation struct {
	boxinit.Request
	stdin          io.Reader           // nil = empty; a Read that blocks is waited for
	stdout, stderr io.Writer           // nil = dropped
	begun          func(boxinit.Reply) // with Follow: called when the run was started
	gap            time.Duration       // after which the container is given up if nothing goes on; 0 = never
}

// Exit codes of a container that has no such boxinit, because its image is older or the agent has removed it.
const (
	exitUsage         = 2
	exitNotExecutable = 126
	exitNoProgram     = 127
)

// unattended returns why there is no boxinit to carry out an operation, from what executing it has printed.
func unattended(code int, said string) error {
	absent := strings.Contains(said, "no such file") || strings.Contains(said, "executable file not found") ||
		strings.Contains(said, "ermission denied")
	switch {
	case kindIn(said) == ErrExhausted:
		return fmt.Errorf("%w: exit code %d: %.500s", ErrExhausted, code, withoutStack(said))
	case code == exitUsage, absent && (code == exitNotExecutable || code == exitNoProgram):
		return fmt.Errorf("%w: %.500s", ErrOldImage, said)
	case code == 0:
		return errLost
	}
	return fmt.Errorf("exit code %d: %.500s", code, withoutStack(said))
}

// withoutStack returns what a Go program says without the stack that follows when it gets no thread.
func withoutStack(text string) string {
	before, _, _ := strings.Cut(text, "fatal error: ")
	return strings.TrimSpace(before)
}

// on carries out the operation on a connection on which boxinit waits for it, and closes that.
func (o operation) on(conn io.ReadWriteCloser) (boxinit.Reply, error) {
	var sending sync.WaitGroup
	defer sending.Wait()
	defer conn.Close()
	if c, ok := conn.(net.Conn); ok && o.gap > 0 {
		conn = &paced{c, o.gap}
	}
	frames := boxinit.NewFrames(conn)
	if err := frames.WriteJSON(boxinit.FrameRequest, o.Request); err != nil {
		return boxinit.Reply{}, fmt.Errorf("%w: %w", errLost, err)
	}
	if o.Op == boxinit.OpRun {
		crash.At("requested")
	}
	var unread error // valid after sending
	if o.Op == boxinit.OpExec || o.Op == boxinit.OpWrite || o.Op == boxinit.OpUpload {
		sending.Go(func() {
			if unread = frames.Send(o.stdin); unread != nil {
				conn.Close()
			}
		})
	}
	reply, err := o.answer(frames)
	if errors.Is(err, errLost) {
		sending.Wait()
		err = cmp.Or(unread, err)
	}
	return reply, err
}

// paced is a connection that breaks if nothing goes on for a while, in either direction.
type paced struct {
	net.Conn
	gap time.Duration
}

// Read waits for the other side, as long as something is written meanwhile.
func (p *paced) Read(b []byte) (int, error) {
	if err := p.SetDeadline(time.Now().Add(p.gap)); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

// Write is the same for the other direction.
func (p *paced) Write(b []byte) (int, error) {
	if err := p.SetDeadline(time.Now().Add(p.gap)); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

// answer reads what comes back.
func (o operation) answer(frames *boxinit.Frames) (boxinit.Reply, error) {
	for {
		kind, data, err := frames.Next(boxinit.MaxFrame)
		if err != nil {
			return boxinit.Reply{}, fmt.Errorf("%w: %w", errLost, err)
		}
		to := io.Discard
		switch {
		case kind == boxinit.FrameReply:
			var reply boxinit.Reply
			if err := boxinit.ReadJSON(data, &reply); err != nil {
				return reply, fmt.Errorf("read reply: %w", err)
			}
			reply = reply.Bounded()
			if o.begun == nil || reply.Failed() {
				return reply, nil
			}
			o.begun(reply)
			o.begun = nil
		case kind == boxinit.FrameStdout && o.stdout != nil:
			to = o.stdout
		case kind == boxinit.FrameStderr && o.stderr != nil:
			to = o.stderr
		case kind != boxinit.FrameStdout && kind != boxinit.FrameStderr:
			return boxinit.Reply{}, fmt.Errorf("a frame of the unknown kind %d", kind)
		}
		if _, err := io.Copy(to, data); err != nil {
			return boxinit.Reply{}, err
		}
	}
}

// failure returns why an operation failed. Verb is for the error.
func failure(r boxinit.Reply, verb string) error {
	kind, text := kindIn(r.Error), withoutStack(r.Error)
	switch {
	case r.Weak != "":
		return fmt.Errorf("%s: %w: %.2000s", verb, ErrWeak, r.Weak)
	case r.Present != "":
		return fmt.Errorf("%s: %w: %.500s", verb, ErrFileExists, r.Present)
	case r.Error == "":
		return nil
	case r.Missing:
		kind = ErrNotFound
	case strings.Contains(text, boxinit.Locked):
		kind = ErrLocked
	case kind != ErrExhausted && kind != ErrNoSpace:
		return fmt.Errorf("%s: %.500s", verb, text)
	}
	return fmt.Errorf("%s: %w: %.500s", verb, kind, text)
}
