//go:build kube

package kube

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"matrix-tui/sandbox"
)

// With gVisor, a room's pod has a kernel of its own, or nothing runs in it. With SANDBOX_RUNTIME=runsc, all
// tests of rooms in a cluster run under gVisor.
func TestClusterGVisor(t *testing.T) {
	s := newSite(t)
	spec, run := s.spec(1), sandbox.RunSpec{ID: "one", Argv: []string{"sh", "-c", "dmesg; cat /workspace/a"}}
	spec.Runtime, s.cluster.cfg.RuntimeClass = sandbox.GVisor, "gvisor"
	var out bytes.Buffer
	at := time.Now()
	c := s.ensure(spec)
	s.sh(c, "echo kept >/workspace/a")
	status, err := c.Run(t.Context(), run, &out, func(bool) {})
	if err != nil || status.Code != 0 || !strings.Contains(out.String(), "Starting gVisor") || !strings.HasSuffix(out.String(), "kept\n") {
		t.Errorf("%q, %+v, %v", out.String(), status, err)
	}
	s.sh(c, "ln -s /etc /workspace/out")
	if err := c.Download(t.Context(), "out/passwd", 100, io.Discard); !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("through a link that leads out of the workspace: %v", err)
	}
	t.Logf("MEASURED first run in a new room: %s", time.Since(at).Round(time.Millisecond))

	s.cluster.cfg.RuntimeClass = "shared" // its handler is the usual one
	spec = s.spec(2)
	spec.Runtime = sandbox.GVisor
	if _, err := s.ensure(spec).StartRun(t.Context(), run); !errors.Is(err, sandbox.ErrWeak) || !strings.Contains(err.Error(), "the kernel is not gVisor's") {
		t.Errorf("in a pod that shares its node's kernel: %v", err)
	}
}
