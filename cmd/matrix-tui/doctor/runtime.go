package doctor

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/state/sentence"
)

// checkRuntime checks that podman's service uses the runtime that SANDBOX_RUNTIME names. checkIsolation then looks at a
// container of that service.
func checkRuntime(ctx context.Context, cfg *settings.Config, podman *sandbox.Podman, kvm string) finding {
	if cfg.Runtime == sandbox.Krun {
		if why := lacksKrun(kvm); why != "" {
			return bad("runtime: SANDBOX_RUNTIME is krun, but %s", why)
		}
	}
	name, path, err := podman.Runtime(ctx)
	return runtimeFinding(string(cfg.Runtime), name, path, err)
}

// runtimeFinding compares the setting with the runtime of podman's service.
func runtimeFinding(want, name, path string, err error) finding {
	switch {
	case err != nil && want == "":
		return bad("runtime: %s; `podman info` shows more", sentence.Text(err))
	case err != nil:
		return bad("runtime: SANDBOX_RUNTIME is %s, but podman's service cannot execute its runtime (%v): install %s; for "+
			"runsc, `deploy/install --gvisor` does that", want, err, want)
	case want == "" && (name == sandbox.GVisor || name == sandbox.Krun):
		return bad("runtime: podman's service uses %s: set SANDBOX_RUNTIME=%s, or the bot verifies its containers as if "+
			"they shared the host's kernel, and no task runs", path, name)
	case want == "":
		return good("runtime: podman uses %s", path)
	case name != want:
		return bad("runtime: SANDBOX_RUNTIME is %s, but podman's service uses %s, so no task runs: for runsc, run "+
			"`deploy/install --gvisor`; or start the service with `podman --runtime PATH system service`", want, path)
	}
	return good("runtime: podman uses %s, which gives each container a kernel of its own", path)
}

// lacksKrun says what the host lacks for krun, "" = nothing.
func lacksKrun(kvm string) string {
	if _, err := exec.LookPath(sandbox.Krun); err != nil {
		return "there is no program krun: install crun with libkrun (the package crun-vm or crun-krun, where the " +
			"distribution has it)"
	}
	if _, err := os.Stat(kvm); err != nil {
		return fmt.Sprintf("there is no %s: the processor's virtualization must be on, and within a virtual machine, nested",
			kvm)
	}
	if unix.Access(kvm, unix.R_OK|unix.W_OK) != nil {
		return fmt.Sprintf("this user may not use %s: add it to the group kvm", kvm)
	}
	return ""
}
