package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Process is a program that runs next to the scripts. It dies with the test process in any case. Its output goes to a
// file, because a pipe would be kept open by processes that the program leaves behind.
type Process struct {
	lock sync.Mutex
	cmd  *exec.Cmd // of the newest start
	Log  string
	Done chan struct{} // closed when it has ended
	Err  error         // of Wait; valid after Done
}

// Launch starts argv in dir with exactly env, output appended to the file log.
func Launch(dir, log string, env []string, argv ...string) (*Process, error) {
	return Supervise(func() bool { return false }, dir, log, env, argv...)
}

// Supervise is Launch for a program that is started again whenever it has ended and again returns true. To the caller,
// it is one process.
func Supervise(again func() bool, dir, log string, env []string, argv ...string) (*Process, error) {
	p := &Process{Log: log, Done: make(chan struct{})}
	if err := p.start(dir, env, argv); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.Done)
		for {
			p.Err = p.command().Wait()
			if !again() {
				return
			}
			if err := p.start(dir, env, argv); err != nil {
				p.Err = err
				return
			}
		}
	}()
	return p, nil
}

func (p *Process) start(dir string, env, argv []string) error {
	out, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log of %s: %w", filepath.Base(argv[0]), err)
	}
	defer out.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", filepath.Base(argv[0]), err)
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.cmd = cmd
	return nil
}

func (p *Process) command() *exec.Cmd {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.cmd
}

// PID is the program's process ID, also after it has ended.
func (p *Process) PID() int { return p.command().Process.Pid }

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
	cmd := p.command()
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", filepath.Base(cmd.Path), err)
	}
	select {
	case <-p.Done:
		return nil
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		<-p.Done
		return fmt.Errorf("%s did not end on %v: %w", filepath.Base(cmd.Path), sig, ctx.Err())
	}
}

// Ended returns how the program ended: its exit code, or the signal that killed it.
func (p *Process) Ended() (code int, by syscall.Signal) {
	state := p.command().ProcessState
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -1, status.Signal()
	}
	return state.ExitCode(), 0
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
