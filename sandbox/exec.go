package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"matrix-tui/sandbox/boxinit"
)

// Cmd is a short command in a container, executed without a shell.
type Cmd struct {
	Argv []string
	// Env is the environment on top of the container's, "KEY=value" each.
	Env []string
	// Dir is where the command starts, "" = /workspace.
	Dir string
	// Input is the command's input if it is short, nil = empty.
	Input []byte
	// Stdin is its input if that is long. Exec waits for a Read that blocks. Use at most one of the two.
	Stdin io.Reader
	// MaxOutput bounds stdout and stderr, in bytes each; 0 = 1 MiB. The rest is dropped
	// and Result.Truncated is set.
	MaxOutput int64
}

// Result is the outcome of a command.
type Result struct {
	Stdout, Stderr []byte
	// Code is the exit code, or 128 + signal number if a signal ended the command.
	Code int
	// Truncated reports that Stdout or Stderr was cut at Cmd.MaxOutput.
	Truncated bool
}

const (
	// defaultMaxOutput bounds a stream of a command that has no bound of its own.
	defaultMaxOutput = 1 << 20
	// maxOnLine bounds each stream of a command on a line: two of them fit into maxReply.
	maxOnLine = 2 << 20
)

// exitRuntime is the exit code if the runtime could not execute the command at all, for
// example because the container has reached its process limit.
const exitRuntime = 125

// Exec runs a command in the container and waits until it ends. A non-zero exit code is
// a result, not an error. When ctx ends, Exec returns its error; the command may
// continue in the container.
func (c *Container) Exec(ctx context.Context, cmd Cmd) (Result, error) {
	if len(cmd.Argv) == 0 {
		return Result{}, errors.New("exec in container: no command")
	}
	if cmd.MaxOutput <= 0 {
		cmd.MaxOutput = defaultMaxOutput
	}
	if cmd.Dir == "" {
		cmd.Dir = workspace
	}
	defer c.podman.Hold(c.Name)()
	if result, done, err := c.execOnLine(ctx, cmd); done {
		return result, err
	}
	if cmd.Input != nil {
		cmd.Stdin = bytes.NewReader(cmd.Input)
	}
	stdout, stderr := bounded{left: cmd.MaxOutput}, bounded{left: cmd.MaxOutput}
	code, err := c.podman.attach(ctx, c.ID, process{
		argv: cmd.Argv, env: cmd.Env, dir: cmd.Dir,
		stdin: cmd.Stdin, stdout: &stdout, stderr: &stderr,
	})
	if err != nil {
		return Result{}, explain(err, "exec in container", c.Name)
	}
	if text := stderr.kept.String(); code == exitRuntime && stdout.kept.Len() == 0 && strings.Contains(text, "OCI runtime error") {
		err := errors.New(withoutStack(text))
		if kind := kindIn(text); kind == ErrExhausted {
			err = fmt.Errorf("%w: %w", kind, err)
		}
		return Result{}, fmt.Errorf("exec in container %s: %w", c.Name, err)
	}
	return Result{
		Stdout: stdout.kept.Bytes(), Stderr: stderr.kept.Bytes(), Code: code,
		Truncated: stdout.cut || stderr.cut,
	}, nil
}

// execOnLine runs a command on a line. Done is false if the command should be executed in another way.
func (c *Container) execOnLine(ctx context.Context, cmd Cmd) (result Result, done bool, err error) {
	if cmd.Stdin != nil || max(cmd.MaxOutput, int64(len(cmd.Input))) > maxOnLine {
		return result, false, nil
	}
	l, err := c.line(ctx)
	if errors.Is(err, errNoAttend) {
		return result, false, nil
	}
	if err != nil {
		return result, true, explain(err, "exec in container", c.Name)
	}
	request := boxinit.Request{Exec: &boxinit.Command{Argv: cmd.Argv, Env: cmd.Env, Dir: cmd.Dir, MaxOutput: cmd.MaxOutput, Input: cmd.Input}}
	if cmd.Input != nil {
		request.Exec, request.Pipe = nil, request.Exec
	}
	reply, err := l.ask(ctx, request)
	switch {
	case ctx.Err() != nil:
		l.close()
		return result, true, ctx.Err()
	case err != nil:
		l.close()
		return result, true, explain(fmt.Errorf("%w: %w", errLost, err), "exec in container", c.Name)
	}
	c.podman.lines.give(c.ID, l)
	if request.Pipe != nil && !reply.Piped { // an older boxinit
		return result, false, nil
	}
	// A process in the container may have answered in boxinit's place.
	stdout, stderr := bounded{left: cmd.MaxOutput}, bounded{left: cmd.MaxOutput}
	_, _ = stdout.Write(reply.Stdout)
	_, _ = stderr.Write(reply.Stderr)
	return Result{
		Stdout: stdout.kept.Bytes(), Stderr: stderr.kept.Bytes(), Code: reply.Code,
		Truncated: reply.Truncated || stdout.cut || stderr.cut,
	}, reply.Error == "", nil
}

// bounded keeps the first bytes of a stream and drops the rest.
type bounded struct {
	kept bytes.Buffer // not embedded: its ReadFrom would bypass the bound
	left int64
	cut  bool
}

// Write always accepts all of b.
func (w *bounded) Write(b []byte) (int, error) {
	keep := b[:min(int64(len(b)), w.left)]
	w.left -= int64(len(keep))
	w.cut = w.cut || len(keep) < len(b)
	w.kept.Write(keep)
	return len(b), nil
}
