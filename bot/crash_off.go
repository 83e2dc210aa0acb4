//go:build !crashtest

package bot

import (
	"matrix-tui/agent"
	"matrix-tui/sandbox"
)

// crash does nothing in the product; see crash.go.
func crash(string) {}

func crashing(box *sandbox.Container) agent.Container { return box }
