//go:build kube

package main

import (
	"flag"
	"testing"

	"matrix-tui/bot/bottest"
)

// TestClusterFaults runs the scripts in which something happens to the cluster: deploy/test --kube runs them. It would
// happen to the others, too, so they run one after the other.
func TestClusterFaults(t *testing.T) {
	atOnce := flag.Lookup("test.parallel").Value.String()
	t.Cleanup(func() { _ = flag.Set("test.parallel", atOnce) })
	if err := flag.Set("test.parallel", "1"); err != nil {
		t.Fatal(err)
	}
	bottest.Run(t, "testdata/kube")
}
