package sandbox

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/bindings/containers"

	"matrix-tui/sandbox/boxinit"
	"matrix-tui/state/sentence"
)

// GVisor is the runtime that gives each container a kernel of its own; see Spec.Runtime.
const GVisor = boxinit.GVisor

// ErrRuntime is an ErrWeak: podman runs the container under another runtime than Spec.Runtime.
var ErrRuntime = sentence.New(fmt.Errorf("%w: podman uses another runtime", ErrWeak),
	"Podman would not run the room's container under the runtime that SANDBOX_RUNTIME names, so I do not run anything. "+
		"The operator can find out more with `matrix-tui doctor`.")

// under reports whether a container was created for the spec's runtime, and podman runs it under that. Podman's API
// takes no runtime for one container: its service decides.
func (s Spec) under(data *define.InspectContainerData) error {
	if is := data.Config.Labels[labelRuntime]; is != s.Runtime {
		return fmt.Errorf("%w: it was created for the runtime %q, and SANDBOX_RUNTIME is %q", ErrRuntime, is, s.Runtime)
	}
	return s.runs(data)
}

func (s Spec) runs(data *define.InspectContainerData) error {
	if is := filepath.Base(data.OCIRuntime); s.Runtime != "" && is != s.Runtime {
		return fmt.Errorf("%w: %s instead of %s", ErrRuntime, is, s.Runtime)
	}
	return nil
}

// runsUnder asks podman under which runtime a container runs.
func (p *Podman) runsUnder(ctx context.Context, spec Spec, id string) error {
	data, err := containers.Inspect(p.with(ctx), id, nil)
	if err != nil {
		return explain(err, "inspect container", id)
	}
	return spec.runs(data)
}
