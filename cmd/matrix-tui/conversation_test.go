package main

import (
	"flag"
	"os"
	"testing"

	"matrix-tui/cmd/matrix-tui/chattest"
)

// TestMain lets four conversations go on at once where nobody said otherwise:
// they wait more than they compute.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", "4")
	}
	os.Exit(m.Run())
}

// TestConversations plays the scripts in testdata; package chattest has the verbs.
func TestConversations(t *testing.T) {
	chattest.Run(t, "testdata")
}

// TestMachines plays the scripts that need a machine of their own, under qemu.
// They take half an hour and more: deploy/test --vps runs them.
func TestMachines(t *testing.T) {
	if os.Getenv("MATRIX_TUI_VPS") == "" {
		t.Skip("NOT RUN: deploy/test --vps plays what needs a machine of its own")
	}
	chattest.Run(t, "testdata/vps")
}
