package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"

	"matrix-tui/sandbox/boxinit"
)

// Cmd is a short command in a container, executed without a shell.
type Cmd struct {
	Argv []string
	// Env is the environment on top of the container's, "KEY=value" each.
	Env []string
	// Dir is where the command starts, "" = /workspace.
	Dir string
	// Stdin is the command's input, nil = empty. Exec waits for a Read that blocks.
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

// defaultMaxOutput bounds a stream of a command that has no bound of its own.
const defaultMaxOutput = 1 << 20

// Exec runs a command in the container and waits until it ends. A non-zero exit code is
// a result, not an error. When ctx ends, Exec returns its error; the command may
// continue in the container.
func (c *Container) Exec(ctx context.Context, cmd Cmd) (Result, error) {
	if len(cmd.Argv) == 0 {
		return Result{}, errors.New("exec in container: no command")
	}
	most := cmp.Or(max(cmd.MaxOutput, 0), defaultMaxOutput)
	stdout, stderr := bounded{left: most}, bounded{left: most}
	command := boxinit.Command{Argv: cmd.Argv, Env: cmd.Env, Dir: cmp.Or(cmd.Dir, workspace), MaxOutput: most}
	reply, err := c.door.do(ctx, operation{
		Request: boxinit.Request{Op: boxinit.OpExec, Command: &command},
		stdin:   cmd.Stdin, stdout: &stdout, stderr: &stderr,
	})
	if err == nil {
		err = failure(reply, "exec in container "+c.Name)
	}
	if err != nil {
		return Result{}, err
	}
	return Result{
		Stdout: stdout.kept.Bytes(), Stderr: stderr.kept.Bytes(), Code: reply.Code,
		Truncated: reply.Truncated || stdout.cut || stderr.cut,
	}, nil
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
