package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"matrix-tui/state/clean"
	"matrix-tui/state/sentence"
)

// maxOutput bounds the stored output of a program.
const maxOutput = 1 << 20

// program is another program that runs until it and everything it starts has ended.
type program struct {
	dir   string
	env   []string
	stdin io.Reader
	out   io.Writer // nil: returned by run
	log   io.Writer // stderr goes there too
	limit time.Duration
}

// run runs argv. If out is nil, it returns stdout. After the limit, the program and its children are killed.
func (p program) run(ctx context.Context, argv ...string) (stdout string, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, p.env, p.stdin
	kept, errs := &head{max: maxOutput}, &ring{max: 8 << 10}
	cmd.Stdout, cmd.Stderr = p.out, io.Writer(errs)
	if p.out == nil {
		cmd.Stdout = kept
	}
	if p.log != nil {
		cmd.Stderr = io.MultiWriter(errs, p.log)
	}
	err = cmd.Run()
	switch {
	case err == nil:
		return kept.String(), nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("%s: not done after %s", argv[0], p.limit)
	default:
		err = fmt.Errorf("%s: %w", argv[0], err)
	}
	return kept.String(), &runError{err, telling(kept.String() + "\n" + errs.String())}
}

// runError is a program that failed, with the end of its output.
type runError struct {
	error
	lines []string
}

func (e *runError) Unwrap() error { return e.error }

// linesOf returns the program's last lines from an error.
func linesOf(err error) []string {
	var said *sentence.Error
	var ran *runError
	switch {
	case errors.As(err, &said):
		return sentence.Lines(err)
	case errors.As(err, &ran):
		return ran.lines
	}
	return nil
}

// environ returns this process's environment without the variables meant for it alone, plus some settings.
func environ(set ...string) []string {
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		switch name {
		case "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "INVOCATION_ID", "LISTEN_FDS", "LISTEN_PID", "MATRIX_TUI_KILL_AT":
			continue
		}
		env = append(env, pair)
	}
	return append(env, set...)
}

// telling returns the ten most useful lines at the end of a program's output: the last ones, or those from a panic or
// fatal error on, with the two before.
func telling(text string) []string {
	lines := slices.Collect(strings.Lines(text))
	for i, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			lines = lastLines(strings.Join(lines[max(0, i-2):min(len(lines), i+100)], ""), 102)
			return lines[:min(len(lines), 10)]
		}
	}
	return lastLines(text, 10)
}

// lastLines returns the last n non-empty lines of a text, each cut to fit into a message.
func lastLines(text string, n int) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(clean.Text(line)); line != "" {
			lines = append(lines, clean.Cut(line, 300))
		}
	}
	return lines[max(0, len(lines)-n):]
}

// head keeps the first bytes that are written to it.
type head struct {
	bytes.Buffer
	max int
}

func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:max(0, min(len(p), h.max-h.Len()))])
	return len(p), nil
}

// ring keeps the last bytes that are written to it.
type ring struct {
	data []byte
	max  int
}

func (r *ring) Write(p []byte) (int, error) {
	r.data = append(r.data, p...)
	if over := len(r.data) - r.max; over > 0 {
		r.data = append(r.data[:0], r.data[over:]...)
	}
	return len(p), nil
}

func (r *ring) String() string { return string(r.data) }
