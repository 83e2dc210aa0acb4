package sandbox

import (
	"context"
	"io"
)

// Cmd is a short command in a box, by direct argv, without a shell.
type Cmd struct {
	Argv []string
	// Env is the environment on top of the box's, "KEY=value" each.
	Env []string
	// Dir is where the command starts, "" = /workspace.
	Dir string
	// Stdin is the command's input, nil = empty.
	Stdin io.Reader
	// MaxOutput bounds stdout and stderr, each, in bytes; 0 = 1 MiB. More is cut
	// and Result.Truncated is set.
	MaxOutput int64
}

// Result is what a command left.
type Result struct {
	Stdout, Stderr []byte
	// Code is the exit code, 128 + signal number where a signal ended it.
	Code int
	// Truncated says that Stdout or Stderr was cut at Cmd.MaxOutput.
	Truncated bool
}

// Exec runs a command in the box and waits for its end. A non-zero exit code is
// a result, not an error. When ctx ends, Exec returns its error; the command in
// the box may go on.
func (b *Box) Exec(ctx context.Context, cmd Cmd) (Result, error) { return Result{}, errTodo }
