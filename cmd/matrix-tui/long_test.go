//go:build long

package main

import (
	"testing"

	"matrix-tui/bot/bottest"
)

// TestDrills runs the scripts that break things systematically. They take long: deploy/test --long runs them.
func TestDrills(t *testing.T) { bottest.Run(t, "testdata/long") }
