package main

import (
	"flag"
	"os"
	"testing"

	"matrix-tui/bot/bottest"
	"matrix-tui/bot/bottest/baddisk"
)

// TestMain runs five conversations at once unless told otherwise: that keeps two cores busy. It is also the process that
// TestSignals signals, and the one that serves a bad disk.
func TestMain(m *testing.M) {
	baddisk.Help()
	if os.Getenv(signalHelper) != "" {
		waitForSignals()
	}
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", "5")
	}
	os.Exit(m.Run())
}

// TestConversations runs the scripts in testdata; package bottest has the verbs.
func TestConversations(t *testing.T) {
	bottest.Run(t, "testdata")
}
