//go:build vps

package main

import (
	"testing"

	"matrix-tui/bot/bottest"
)

// TestMachines plays the scripts that need a machine of their own, under qemu.
// They take long: deploy/test --vps runs them.
func TestMachines(t *testing.T) { bottest.Run(t, "testdata/vps") }
