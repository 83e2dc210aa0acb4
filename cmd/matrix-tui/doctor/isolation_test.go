package doctor

import (
	"fmt"
	"strings"
	"testing"

	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
)

// A host that cannot limit containers is a failure.
func TestLimitsInDoctor(t *testing.T) {
	begins(t, unlimited(fmt.Errorf("%w: podman has no cgroup controller cpu (SANDBOX_CPUS)", sandbox.ErrUnlimited)), "FAIL isolation: no task runs, because this host cannot set every limit of a container: ")
	if got := unlimited(fmt.Errorf("%w: %s", sandbox.ErrUnlimited, strings.Repeat("x", 900))).String(); !strings.Contains(got, "to 0 to do without that limit") {
		t.Error(got)
	}
	if got := fewerFiles(&settings.Config{Files: 65536}, 20000); !strings.HasPrefix(got, "; a process can have 20000 open files and not 65536 (SANDBOX_NOFILE)") || fewerFiles(&settings.Config{Files: 4096}, 4096) != "" {
		t.Error(got)
	}
}
