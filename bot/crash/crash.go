//go:build crashtest

package crash

import (
	"os"
	"syscall"
)

// At kills the process with SIGKILL if MATRIX_TUI_KILL_AT names this point. The
// conversation tests use it.
func At(point string) {
	if os.Getenv("MATRIX_TUI_KILL_AT") == point {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}
