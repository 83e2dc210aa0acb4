package boxinit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// straggling is how long a command's output may stay open after its end, by a process that it has left behind.
const straggling = time.Second

// attend is `boxinit attend`: requests on stdin, one JSON object each, which are carried out one after the other. The
// caller thus needs one podman exec for many commands. It ends when stdin is closed, at once, so that it does not outlive
// its caller; a run goes on.
func (p *Program) attend(s store) error {
	requests := make(chan Request)
	go func() {
		input := &io.LimitedReader{R: p.Stdin}
		decoder := json.NewDecoder(input)
		for {
			var r Request
			input.N = maxRequest
			if decoder.Decode(&r) != nil {
				os.Exit(0)
			}
			requests <- r
		}
	}()
	for r := range requests {
		if err := p.carryOut(s, r); err != nil {
			return err
		}
	}
	return nil
}

func (p *Program) carryOut(s store, r Request) error {
	if r.Strength != "" {
		var err error
		if p.weak, err = weaknesses(r.Strength); err != nil {
			p.weak = err.Error()
		}
	}
	switch {
	case r.Run != nil:
		return p.attendRun(s, *r.Run)
	case r.Park != nil:
		answer, err := json.Marshal(p.park(s, *r.Park))
		if err != nil {
			return err
		}
		return json.NewEncoder(p.Stdout).Encode(Reply{Stdout: answer})
	case r.Exec != nil:
		return json.NewEncoder(p.Stdout).Encode(r.Exec.run())
	case r.Pipe != nil:
		reply := r.Pipe.run()
		reply.Piped = true
		return json.NewEncoder(p.Stdout).Encode(reply)
	}
	return json.NewEncoder(p.Stdout).Encode(Reply{})
}

// attendRun starts a run and follows it to its end.
func (p *Program) attendRun(s store, spec RunSpec) error {
	answer := p.start(s, spec)
	if err := json.NewEncoder(p.Stdout).Encode(answer); err != nil || !answer.started() {
		return err
	}
	out := &counter{to: p.Stdout}
	status, err := s.tail(spec.ID, 0, out)
	if err != nil {
		return err
	}
	return json.NewEncoder(p.Stderr).Encode(Ended{status, out.n})
}

// run runs the command to its end.
func (c Command) run() (r Reply) {
	if len(c.Argv) == 0 {
		return Reply{Error: "no command"}
	}
	stdout, stderr := limited{left: c.MaxOutput}, limited{left: c.MaxOutput}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = append(os.Environ(), c.Env...), c.Dir, straggling
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if c.Input != nil {
		cmd.Stdin = bytes.NewReader(c.Input)
	}
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
	return Reply{Code: code, Stdout: stdout.kept, Stderr: stderr.kept, Truncated: stdout.cut || stderr.cut}
}

// limited keeps the first bytes of a stream and drops the rest.
type limited struct {
	kept []byte
	left int64
	cut  bool
}

func (w *limited) Write(b []byte) (int, error) {
	keep := b[:min(int64(len(b)), w.left)]
	w.kept, w.left, w.cut = append(w.kept, keep...), w.left-int64(len(keep)), w.cut || len(keep) < len(b)
	return len(b), nil
}

// counter counts the bytes that it passes on.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}
