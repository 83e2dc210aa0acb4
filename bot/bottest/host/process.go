package host

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

// Process is a program that runs next to the scripts. It dies with the test process in any case. Its output goes to a
// file, because a pipe would be kept open by processes that the program leaves behind.
type Process struct {
	cmd  *exec.Cmd
	Log  string
	Done chan struct{} // closed when it has ended
	Err  error         // of Wait; valid after Done
}

// Launch starts argv in dir with exactly env, output appended to the file log.
func Launch(dir, log string, env []string, argv ...string) (*Process, error) {
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
	p := &Process{cmd: cmd, Log: log, Done: make(chan struct{})}
	go func() {
		p.Err = cmd.Wait()
		close(p.Done)
	}()
	return p, nil
}

// PID is the program's process ID, also after it has ended.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Alive reports whether the program is running; a nil process is not.
func (p *Process) Alive() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.Done:
		return false
	default:
		return true
	}
}

// Signal sends sig and waits for the end. A program that does not end within
// ten seconds after ctx is killed, and that is an error.
func (p *Process) Signal(ctx context.Context, sig syscall.Signal) error {
	if !p.Alive() {
		return nil
	}
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", filepath.Base(p.cmd.Path), err)
	}
	select {
	case <-p.Done:
		return nil
	case <-ctx.Done():
		_ = p.cmd.Process.Kill()
		<-p.Done
		return fmt.Errorf("%s did not end on %v: %w", filepath.Base(p.cmd.Path), sig, ctx.Err())
	}
}

// Ended returns how the program ended: its exit code, or the signal that killed it.
func (p *Process) Ended() (code int, by syscall.Signal) {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return -1, status.Signal()
	}
	return p.cmd.ProcessState.ExitCode(), 0
}

// Poll calls ok until it returns true or an error, or ctx ends. It is for things that cannot be waited for: files,
// processes, ports.
func Poll(ctx context.Context, ok func() (bool, error)) error {
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

// Tail returns the end of a file, at most n bytes.
func Tail(path string, n int64) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if over := int64(len(data)) - n; over > 0 {
		data = append([]byte("…"), data[over:]...)
	}
	return string(data)
}
