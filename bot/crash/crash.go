//go:build crashtest

package crash

import (
	"os"
	"syscall"
)

// At ends the process at a named point, as kill -9 would, when the environment
// says so. The conversation scripts are built with it.
func At(point string) {
	if os.Getenv("MATRIX_TUI_KILL_AT") == point {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}
