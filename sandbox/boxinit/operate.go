package boxinit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// straggling is how long a command's output may stay open after its end, by a process that it has left behind.
const straggling = time.Second

// operation is one that is being carried out.
type operation struct {
	store   store
	self    []string
	frames  *Frames
	network *network
	Request
}

// operate carries out the operation that the caller asks for on a connection. First, the caller sends a byte and gets
// it back: so it knows that somebody is there before it asks. Asked is called when the byte has come, or cannot come
// any more.
func (p *Program) operate(conn io.ReadWriter, asked func(bool)) error {
	first := make([]byte, 1)
	_, err := io.ReadFull(conn, first)
	asked(err == nil)
	if err != nil {
		return nil
	}
	if _, err := conn.Write(first); err != nil {
		return err
	}
	o := operation{store: store{p.Dir}, self: p.Self, frames: NewFrames(conn), network: &p.network}
	kind, data, err := o.frames.Next(maxRequest)
	if err != nil || kind != FrameRequest {
		return err
	}
	if err := ReadJSON(data, &o.Request); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	return o.frames.WriteJSON(FrameReply, o.carryOut())
}

// replyOf is the reply of an operation that may have failed.
func replyOf(r Reply, err error) Reply {
	if err != nil {
		r.Error, r.Missing = err.Error(), errors.Is(err, os.ErrNotExist)
	}
	return r
}

func (o *operation) carryOut() Reply {
	if o.Op == OpRun && o.Run != nil || o.Op == OpPark && o.Park != nil {
		return o.start()
	}
	if slices.Contains([]Op{OpFollow, OpStatus, OpStop, OpRemove}, o.Op) {
		if err := CheckID(o.ID); err != nil {
			return replyOf(Reply{}, err)
		}
	}
	s, err := o.store, error(nil)
	switch o.Op {
	case OpFollow:
		return o.follow(o.ID)
	case OpStatus:
		status, err := s.status(o.ID)
		return replyOf(Reply{Status: &status}, err)
	case OpStop:
		err = stop(s, o.ID)
	case OpRemove:
		err = s.remove(o.ID)
	case OpLeft:
		left, err := s.left()
		return replyOf(Reply{Left: left}, err)
	case OpEndLeft:
		err = s.endLeft()
	case OpWrite:
		err = writeFile(o.Path, io.LimitReader(o.input(), o.Size), o.Size, 0, false)
	case OpRead:
		err = send(o.frames.Stream(FrameStdout), o.Path, o.Size)
	case OpExec:
		return o.execute()
	case OpLook, OpDownload, OpUpload:
		return o.browse("/workspace")
	case OpProcesses:
		list, more, err := running()
		return replyOf(Reply{Processes: list, More: more}, err)
	case OpDial:
		return o.tunnel()
	default:
		err = fmt.Errorf("unknown operation %q", o.Op)
	}
	return replyOf(Reply{}, err)
}

func (o *operation) input() io.Reader { return &input{frames: o.frames} }

// start starts a run or parks one, unless the container is weaker than it must be.
func (o *operation) start() Reply {
	if o.Strength != "" {
		weak, err := weaknesses(o.Strength, o.network)
		if err != nil {
			weak = err.Error()
		}
		if weak != "" {
			return Reply{Weak: weak}
		}
	}
	if o.Op == OpPark {
		return replyOf(o.store.park(*o.Park, o.self))
	}
	reply := o.store.started(*o.Run, o.self)
	if !o.Follow || reply.Failed() || o.frames.WriteJSON(FrameReply, reply) != nil {
		return reply
	}
	return o.follow(o.Run.ID)
}

// follow sends a run's output until it has ended, or the caller is gone.
func (o *operation) follow(id string) Reply {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, o.frames.conn)
	}()
	status, err := o.store.tail(id, max(o.Offset, 0), o.frames.Stream(FrameStdout), gone)
	return replyOf(Reply{Status: &status}, err)
}

// execute runs a command to its end. If the caller goes away, it goes on.
func (o *operation) execute() Reply {
	c := o.Command
	if c == nil || len(c.Argv) == 0 {
		return Reply{Error: "no command"}
	}
	stdout := &limited{to: o.frames.Stream(FrameStdout), left: c.MaxOutput}
	stderr := &limited{to: o.frames.Stream(FrameStderr), left: c.MaxOutput}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = append(os.Environ(), c.Env...), c.Dir, straggling
	if c.Whole {
		cmd.WaitDelay = 0
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.input(), stdout, stderr
	if err := cmd.Start(); err != nil {
		return Reply{Error: fmt.Sprintf("start %s: %v", c.Argv[0], err)}
	}
	// What Wait says beyond the exit status is that the output stayed open.
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
		return Reply{Error: fmt.Sprintf("wait for %s: %v", c.Argv[0], err)}
	}
	code := cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	return Reply{Code: code, Truncated: stdout.cut || stderr.cut}
}

// limited passes on the first bytes of a stream and drops the rest.
type limited struct {
	to   io.Writer
	left int64
	cut  bool
}

// Write always accepts all of b.
func (w *limited) Write(b []byte) (int, error) {
	keep := b[:min(int64(len(b)), w.left)]
	w.left, w.cut = w.left-int64(len(keep)), w.cut || len(keep) < len(b)
	_, _ = w.to.Write(keep) // the caller may be gone
	return len(b), nil
}
