//go:build crashtest

package bot

import (
	"context"
	"os"
	"syscall"

	"matrix-tui/agent"
	"matrix-tui/sandbox"
)

// crash ends the process at a named point of the walk, as kill -9 would, when
// the environment says so. The conversation scripts are built with it.
func crash(point string) {
	if os.Getenv("MATRIX_TUI_KILL_AT") == point {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// crashing is a box with a crash point behind the start of a run.
func crashing(box *sandbox.Container) agent.Container { return crashBox{box} }

type crashBox struct{ *sandbox.Container }

func (b crashBox) StartRun(ctx context.Context, spec sandbox.RunSpec) (bool, error) {
	existed, err := b.Container.StartRun(ctx, spec)
	crash("started")
	return existed, err
}
