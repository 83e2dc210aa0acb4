//go:build crashtest

package release

import (
	"os"
	"syscall"
)

// crash ends the process at a named step of an update, as kill -9 would, if the environment says so. Only builds for
// the conversation scripts contain it.
func crash(point string) {
	if os.Getenv("MATRIX_TUI_KILL_AT") == "update-"+point {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}
