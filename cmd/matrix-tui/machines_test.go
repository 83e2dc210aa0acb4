//go:build vps

package main

import (
	"testing"

	"matrix-tui/cmd/matrix-tui/chattest"
)

// TestMachines plays the scripts that need a machine of their own, under qemu.
// They take long: deploy/test --vps runs them.
func TestMachines(t *testing.T) { chattest.Run(t, "testdata/vps") }
