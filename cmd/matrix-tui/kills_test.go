//go:build kills

package main

import (
	"os"
	"testing"

	"matrix-tui/bot/bottest"
)

// TestKills kills the bot before each of its effects. That takes long: deploy/test --kills runs it.
func TestKills(t *testing.T) {
	bottest.Kills(t, "testdata/kills", os.Getenv("KILLS"), os.Getenv("KILLS_TWICE") != "")
}
