package main

import (
	"flag"
	"os"
	"testing"

	"matrix-tui/bot/bottest"
)

// TestMain runs four conversations at once unless told otherwise: they wait more than they compute. It is also the
// process that TestSignals signals.
func TestMain(m *testing.M) {
	if os.Getenv(signalHelper) != "" {
		waitForSignals()
	}
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", "4")
	}
	os.Exit(m.Run())
}

// TestConversations runs the scripts in testdata; package bottest has the verbs.
func TestConversations(t *testing.T) {
	bottest.Run(t, "testdata")
}
