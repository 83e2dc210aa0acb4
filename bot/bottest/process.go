package bottest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a program that runs beside the scripts. It dies with the test
// process, whatever happens to that; its output goes to a file, because a pipe
// would be kept open by what the program leaves behind.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
	err  error         // of Wait; valid after done
}

// launch starts argv in dir with exactly env, output appended to the file log.
func launch(dir, log string, env []string, argv ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", filepath.Base(argv[0]), err)
	}
	defer out.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(argv[0]), err)
	}
	p := &process{cmd: cmd, log: log, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// alive tells whether the program runs; a nil process does not.
func (p *process) alive() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal sends sig and waits for the end. A program that does not end within
// ten seconds after ctx is killed, and that is an error.
func (p *process) signal(ctx context.Context, sig syscall.Signal) error {
	if !p.alive() {
		return nil
	}
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", filepath.Base(p.cmd.Path), err)
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("%s did not end on %v: %w", filepath.Base(p.cmd.Path), sig, ctx.Err())
	}
}

// ended says how the program went: its exit code, or the signal that killed it.
func (p *process) ended() (code int, by syscall.Signal) {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return -1, status.Signal()
	}
	return p.cmd.ProcessState.ExitCode(), 0
}

// poll looks until ok says yes or an error, or ctx ends. It is for things that
// tell nobody when they change: files, processes, ports.
func poll(ctx context.Context, ok func() (bool, error)) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		hit, err := ok()
		if hit || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// tail is the end of a file, at most n bytes.
func tail(path string, n int64) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if over := int64(len(data)) - n; over > 0 {
		data = append([]byte("…"), data[over:]...)
	}
	return string(data)
}
