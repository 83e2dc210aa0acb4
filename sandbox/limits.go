package sandbox

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/containers/podman/v5/libpod/define"
	rspec "github.com/opencontainers/runtime-spec/specs-go"

	"matrix-tui/state/sentence"
)

// ErrUnlimited is an ErrWeak: the container lacks a limit of its spec, or the host cannot set one.
var ErrUnlimited = sentence.New(fmt.Errorf("%w: it would lack a limit", ErrWeak),
	"This host cannot limit all that the room's container uses (memory, processors, processes), so I do not run "+
		"anything in it. The operator can find out more with `matrix-tui doctor`.")

// pids returns the limit on processes and threads of the host. GVisor needs two for each process of the container, and
// some for itself.
func (s Spec) pids() int64 {
	if s.Runtime == GVisor {
		return 2*s.PIDs + 128
	}
	return s.PIDs
}

// resources returns the limits of the spec, or ErrUnlimited if the host lacks a cgroup controller for one.
func (s Spec) resources(h host) (*rspec.LinuxResources, error) {
	limits, missing := &rspec.LinuxResources{}, []string(nil)
	need := func(controller, setting string) {
		if !h.can(controller) {
			missing = append(missing, fmt.Sprintf("%s (%s)", controller, setting))
		}
	}
	if s.Memory > 0 {
		need("memory", "SANDBOX_MEMORY")
		limits.Memory = &rspec.LinuxMemory{Limit: &s.Memory, Swap: &s.Memory}
	}
	if s.CPUs > 0 {
		need("cpu", "SANDBOX_CPUS")
		quota := int64(math.Ceil(s.CPUs * cpuPeriod))
		limits.CPU = &rspec.LinuxCPU{Quota: &quota, Period: new(uint64(cpuPeriod))}
	}
	if s.PIDs > 0 {
		need("pids", "SANDBOX_PIDS")
		limits.Pids = &rspec.LinuxPids{Limit: s.pids()}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: podman has no cgroup controller %s", ErrUnlimited, strings.Join(missing, ", "))
	}
	return limits, nil
}

// limited returns ErrUnlimited if the container was created without a limit that the spec has. Another value is as
// good: settings change.
func (s Spec) limited(data *define.InspectContainerData) error {
	is := data.HostConfig
	if is == nil || s.Memory > 0 && is.Memory <= 0 || s.CPUs > 0 && is.CpuQuota <= 0 && is.NanoCpus <= 0 ||
		s.PIDs > 0 && is.PidsLimit <= 0 {
		return fmt.Errorf("%w: it was created without a limit on memory, processors or processes", ErrUnlimited)
	}
	return nil
}

// refusesLimits reports whether a start failed because of cgroup limits.
func refusesLimits(err error) bool {
	text := err.Error()
	return strings.Contains(text, "cgroup") && (strings.Contains(text, "memory") ||
		strings.Contains(text, "cpu") || strings.Contains(text, "pids") || strings.Contains(text, "controller"))
}

// Limited returns ErrUnlimited if podman cannot set the limits of a spec on this host.
func (p *Podman) Limited(ctx context.Context, spec Spec) error {
	host, err := p.about(ctx)
	if err == nil {
		_, err = spec.resources(host)
	}
	return err
}
