package release

import (
	"cmp"
	"context"
	"encoding/json"
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

// program is another program that runs until it and everything it starts has ended.
type program struct {
	dir     string
	env     []string // added to this process's
	stdin   string
	log     io.Writer // gets stderr too
	limit   time.Duration
	extends bool // with each output, the limit starts again
}

// errLate means that a program was killed at its limit.
var errLate = errors.New("not done")

// run runs argv and returns its stdout. After the limit, the program and its children are killed.
func (p program) run(ctx context.Context, argv ...string) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(p.limit, func() { cancel(errLate) })
	defer limit.Stop()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, errs := &tail{}, &tail{}
	if p.extends {
		out.limit, out.again = limit, p.limit
	}
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, append(environ(), p.env...), strings.NewReader(p.stdin)
	cmd.Stdout, cmd.Stderr = out, io.MultiWriter(errs, cmp.Or(p.log, io.Discard))
	err := cmd.Run()
	if err == nil {
		return string(out.data), nil
	}
	if errors.Is(context.Cause(ctx), errLate) {
		err = fmt.Errorf("%w after %s", errLate, p.limit)
	}
	return string(out.data), &runError{argv[0], err, telling(readable(string(out.data) + "\n" + string(errs.data)))}
}

// runError is a program that failed, with the end of its output.
type runError struct {
	program string
	error
	lines []string
}

func (e *runError) Error() string { return e.program + ": " + e.error.Error() }
func (e *runError) Unwrap() error { return e.error }

// failed adds a sentence to an error, and the last lines of the program that failed.
func failed(err error, format string, args ...any) error {
	ran := new(runError)
	errors.As(err, &ran)
	return sentence.Newf(err, format, args...).With(ran.lines)
}

// full adds the sentence about a full disk.
func full(err error, where Base) error {
	_, known := sentence.Of(err)
	lines := sentence.Lines(err)
	if run := (*runError)(nil); errors.As(err, &run) {
		lines = append(lines, run.lines...)
	}
	said := strings.Contains(strings.ToLower(strings.Join(lines, "\n")), syscall.ENOSPC.Error()) // in a program's output
	if said || !known && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) {
		return sentence.Newf(err, "The disk under %s is full: free some space and ask again.", where)
	}
	return err
}

// environ returns this process's environment without the variables meant for it alone.
func environ() []string {
	own := []string{"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "INVOCATION_ID", "LISTEN_FDS", "LISTEN_PID",
		"MATRIX_TUI_KILL_AT"}
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(own, name)
	})
}

// telling returns the ten most useful lines of a program's output: the last ones, or those from a panic or fatal error
// on, with the two before.
func telling(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(clean.Text(line)); line != "" {
			lines = append(lines, clean.Cut(line, 300))
		}
	}
	at := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
	})
	if at < 0 {
		at = max(0, len(lines)-8)
	}
	return lines[max(0, at-2):min(len(lines), at+8)]
}

// maxOutput is how much of a program's output is kept: a fatal error lists all goroutines after its cause.
const maxOutput = 1 << 20

// tail keeps the last bytes that are written to it.
type tail struct {
	data  []byte
	limit *time.Timer // starts again with each write; nil for none
	again time.Duration
}

func (t *tail) Write(p []byte) (int, error) {
	if t.limit != nil {
		t.limit.Reset(t.again)
	}
	t.data = append(t.data, p...)
	t.data = t.data[max(0, len(t.data)-maxOutput):]
	return len(p), nil
}

// readable turns the bot's log lines, which are JSON, into text.
func readable(log string) string {
	var out strings.Builder
	for line := range strings.Lines(log) {
		var said struct{ Level, Message, Error string }
		if json.Unmarshal([]byte(line), &said) == nil && said.Message != "" {
			line = strings.TrimSuffix(said.Level+": "+said.Message+": "+said.Error, ": ") + "\n"
		}
		out.WriteString(line)
	}
	return out.String()
}
