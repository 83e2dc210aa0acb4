package doctor

import (
	"context"

	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/state/sentence"
)

// checkRuntime checks that podman's service uses the runtime that SANDBOX_RUNTIME names. checkIsolation then looks at a
// container of that service.
func checkRuntime(ctx context.Context, cfg *settings.Config, podman *sandbox.Podman) Finding {
	name, path, version, err := podman.Runtime(ctx)
	if version != "" {
		path += " (" + version + ")"
	}
	return runtimeFinding(string(cfg.Runtime), name, path, err)
}

// runtimeFinding compares the setting with the runtime of podman's service.
func runtimeFinding(want, name, path string, err error) Finding {
	switch {
	case err != nil && want == "":
		return bad("runtime: %s; `podman info` shows more", sentence.Text(err))
	case err != nil:
		return bad("runtime: SANDBOX_RUNTIME is %s, but podman's service cannot execute its runtime (%v): install %s; for "+
			"runsc, `deploy/install --gvisor` does that", want, err, want)
	case want == "" && name == sandbox.GVisor:
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
