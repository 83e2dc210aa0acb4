package doctor

import (
	"errors"
	"testing"
)

func TestRuntimeFinding(t *testing.T) {
	for _, c := range []struct {
		setting, name, path string
		err                 error
		want                string
	}{
		{"", "crun", "/usr/bin/crun", nil, "ok   runtime: podman uses /usr/bin/crun"},
		{"", "runsc", "/x/runsc", nil, "FAIL runtime: podman's service uses /x/runsc: set SANDBOX_RUNTIME=runsc"},
		{"", "", "", errors.New("no runtime"), "FAIL runtime: "},
		{"runsc", "runsc", "/x/runsc", nil, "ok   runtime: podman uses /x/runsc, which gives each container a kernel of its own"},
		{"runsc", "crun", "/usr/bin/crun", nil, "FAIL runtime: SANDBOX_RUNTIME is runsc, but podman's service uses /usr/bin/crun, so no task runs"},
		{"runsc", "", "", errors.New("no runtime"), "FAIL runtime: SANDBOX_RUNTIME is runsc, but podman's service cannot execute its runtime (no runtime)"},
	} {
		begins(t, runtimeFinding(c.setting, c.name, c.path, c.err), c.want)
	}
}
