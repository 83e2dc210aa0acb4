//go:build crashtest

package release

import (
	"os"
	"syscall"
)

// crash ends the process at a named step of an update, as kill -9 would, when
// the environment says so. The conversation scripts are built with it.
func crash(point string) {
	if os.Getenv("MATRIX_TUI_KILL_AT") == "update-"+point {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}
