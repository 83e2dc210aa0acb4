package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/containers/podman/v5/pkg/specgen"
	"golang.org/x/sys/unix"

	"matrix-tui/sandbox/boxinit"
	"matrix-tui/state/sentence"
)

// ErrWeak: the container is less isolated than its spec says.
var ErrWeak = sentence.New(errors.New("the container is weaker than it must be"),
	"The room's container is less isolated than it must be, so I do not run anything in it. The operator can find out "+
		"more with `matrix-tui doctor` and in the log.")

// ErrOldImage is an ErrWeak: the container's boxinit does not know how to verify it.
var ErrOldImage = sentence.New(fmt.Errorf("%w: its image is older than the bot", ErrWeak),
	"The sandbox image is older than I am: I cannot tell whether the room's container is isolated, so I do not run "+
		"anything in it. The operator can rebuild the image with `./deploy/image/build`.")

// CapabilityMask has the bits of Capabilities.
const CapabilityMask = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER |
	1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_KILL

// strength is what boxinit must find in a container, as a label: what a container was created with stays true when
// settings change.
func strength(runtime string, slot int, g *specgen.SpecGenerator) string {
	s := boxinit.Strength{Runtime: runtime, Capabilities: CapabilityMask, Mark: theProfile().mark, Mounts: mounts(g)}
	limits := g.ResourceLimits
	if slot >= 0 {
		s.FirstID, s.IDs = uint32(firstID+slot*idsPerSlot), idsPerSlot
	}
	for _, limit := range g.Rlimits {
		if limit.Type == "nofile" {
			s.Files = limit.Hard
		}
	}
	// a rootless gVisor has its limits from deploy/host/runsc, and does not show them
	if limits.Memory != nil && (runtime != GVisor || slot >= 0) {
		s.Memory = *limits.Memory.Limit
	}
	if limits.CPU != nil {
		s.CPU = (*limits.CPU.Quota*100 + cpuPeriod - 1) / cpuPeriod
	}
	if limits.Pids != nil {
		s.PIDs = limits.Pids.Limit
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // of numbers
	}
	return string(data)
}

// mounts are those of a container, with the options that make them harmless.
func mounts(g *specgen.SpecGenerator) map[string][]string {
	all := map[string][]string{}
	for _, v := range g.Volumes {
		all[v.Dest] = nil
	}
	for _, m := range g.Mounts {
		all[m.Destination] = slices.DeleteFunc(slices.Clone(m.Options), func(option string) bool {
			return !slices.Contains([]string{"ro", "nosuid", "nodev", "noexec"}, option)
		})
	}
	return all
}

// errEarlier: it is not known how strong the container must be.
var errEarlier = fmt.Errorf("%w: an earlier version of the bot created it", ErrWeak)
