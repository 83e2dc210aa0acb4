//go:build vps

package main

import (
	"testing"

	"matrix-tui/bot/bottest"
)

// TestMachines runs the scripts that need their own machine, under qemu. They take long: deploy/test --vps runs them.
func TestMachines(t *testing.T) { bottest.Run(t, "testdata/vps") }
