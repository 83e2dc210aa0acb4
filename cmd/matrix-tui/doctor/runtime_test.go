package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"matrix-tui/cmd/matrix-tui/clitest"
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

func TestLacksKrun(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	kvm := filepath.Join(dir, "kvm")
	for _, want := range []string{"there is no program krun", "there is no " + kvm, ""} {
		if got := lacksKrun(kvm); want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if want == "there is no program krun" {
			if err := os.Chmod(clitest.Write(t, filepath.Join(dir, "krun"), "#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		} else {
			clitest.Write(t, kvm, "")
		}
	}
}
