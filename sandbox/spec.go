package sandbox

import (
	"cmp"
	"context"
	"slices"
	"syscall"

	"github.com/containers/podman/v5/pkg/specgen"
	rspec "github.com/opencontainers/runtime-spec/specs-go"
	"go.podman.io/storage/pkg/idtools"
	"go.podman.io/storage/types"

	"matrix-tui/sandbox/boxinit"
)

// Spec describes a room's container.
type Spec struct {
	// Room is the room ID on the label.
	Room string
	// Name is the container's name; "" = NameFor(Room). If that belongs to another room, Ensure takes another one.
	Name string
	// VolumesOf is the room whose volumes are used; "" = Room. It differs after a room
	// upgrade, when Room replaced that room.
	VolumesOf string
	Image     string
	// Memory is the limit in bytes, swap included; 0 = none.
	Memory int64
	// CPUs is the number of processors the container may use; 0 = no limit.
	CPUs float64
	// PIDs is the limit on processes and threads; 0 = no limit.
	PIDs int64
	// Files is the limit on open files of a process, as far as the host allows it; 0 = leastFiles.
	Files int64
	// Runtime is the name of the OCI runtime under which the container must run: GVisor, "" = any that shares the host's
	// kernel.
	Runtime string
	// Fresh recreates the container, on its volumes, if Image now names a newer image
	// than the one it was created from, or if it is Outdated. Nothing may be running in it.
	Fresh bool
	// Replacing is called before a container is removed in which Debian packages were installed, with what Reinstall is
	// to be called with for the new one: their names, and notes about others. The container stays if it fails. It may be
	// called again with the same ones.
	Replacing func(ctx context.Context, packages []string) error
	// Waiting, if it is not nil, is called with the reason when the container, or a run in it that is followed, keeps
	// somebody waiting.
	Waiting func(why error)
}

// placed is a Spec with what this host has for it.
type placed struct {
	Spec
	gateway string    // the folder of the room's gateway, "" = none
	init    string    // the copy of boxinit, "" = none: see initFile
	volumes [2]string // names of volumes
	version string
}

// Labels on a container and on its volumes.
const (
	labelRoom    = "io.matrix-tui.room"
	labelVersion = "io.matrix-tui.version"
	labelImage   = "io.matrix-tui.image"
	labelSlot    = "io.matrix-tui.slot"
	// labelProfile names the seccomp profile, labelStrength holds what boxinit verifies.
	labelProfile  = "io.matrix-tui.profile"
	labelStrength = "io.matrix-tui.strength"
	labelRuntime  = "io.matrix-tui.runtime"
	// labelOperations names the protocol of the boxinit with which the container was created.
	labelOperations = "io.matrix-tui.operations"
)

const (
	gatewayMount = "/run/gateway"
	workspace    = "/workspace"
	homeDir      = "/root"

	// Each room has idsPerSlot user IDs of the host to itself, from firstID on: a range that systemd's table of user
	// IDs leaves unused (https://systemd.io/UIDS-GIDS/). Slots end where that range does.
	firstID    = 0x70000000
	idsPerSlot = 65536
	maxSlots   = (0x7FFE0000 - firstID) / idsPerSlot

	// processes is the limit on processes of each user in a container. This one and the one on open files are always set:
	// podman's own defaults exceed what some hosts allow.
	processes = 4096

	cpuPeriod = 100_000 // microseconds
	logBytes  = 1 << 20 // the log of PID 1
)

// capabilities are what root keeps in a container: package managers and build tools
// need to change owners and users, nothing more.
var capabilities = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETUID", "SETGID", "KILL"}

// Capabilities returns the names of what root keeps in a container.
func Capabilities() []string { return slices.Clone(capabilities) }

// volumeKinds are what the names of a room's two volumes begin with: the one at workspace, and the one at homeDir.
var volumeKinds = [2]string{"workspace-", "home-"}

func (s Spec) volumesOf() string { return cmp.Or(s.VolumesOf, s.Room) }

// generator returns podman's specification of the container. Slot is the room's range
// of user IDs, or -1 with rootless podman, which isolates its containers from the host
// by itself. The caller sets the path of the seccomp profile.
func (s placed) generator(imageID string, slot int, limits *rspec.LinuxResources) *specgen.SpecGenerator {
	g := specgen.NewSpecGenerator(s.Image, false)
	g.Name = s.Name
	g.Labels = map[string]string{labelRoom: s.Room, labelVersion: s.version, labelImage: imageID,
		labelProfile: theProfile().name, labelRuntime: s.Runtime,
		labelOperations: boxinit.OperationPath}
	g.Hostname = "sandbox"
	g.Entrypoint = []string{imageInit}
	g.Command = []string{}
	g.WorkDir = workspace
	g.Env = map[string]string{"HOME": homeDir}
	g.HTTPProxy = new(false)
	g.Systemd = "false"
	g.RestartPolicy = "always"
	g.StopSignal = new(syscall.SIGTERM)
	g.StopTimeout = new(uint(5))
	g.LogConfiguration = &specgen.LogConfig{Driver: "k8s-file", Size: logBytes}
	g.ImageVolumeMode = "ignore"
	g.Volumes = []*specgen.NamedVolume{
		{Name: s.volumes[0], Dest: workspace},
		{Name: s.volumes[1], Dest: homeDir},
	}
	if s.gateway != "" {
		g.Mounts = []rspec.Mount{{
			Destination: gatewayMount, Source: s.gateway, Type: "bind",
			Options: []string{"bind", "ro", "nosuid", "nodev", "noexec"},
		}}
	}
	if s.init != "" {
		g.Entrypoint = []string{initMount}
		g.Mounts = append(g.Mounts, rspec.Mount{
			Destination: initMount, Source: s.init, Type: "bind", Options: []string{"bind", "ro", "nosuid", "nodev"},
		})
	}
	if s.Runtime == GVisor {
		// gVisor has control groups of its own, writable whatever the options say: a program could set a limit that keeps
		// boxinit from starting processes. The limits of the spec hold on the host.
		g.Mounts = append(g.Mounts, rspec.Mount{
			Destination: "/sys/fs/cgroup", Source: "tmpfs", Type: "tmpfs",
			Options: []string{"ro", "nosuid", "nodev", "noexec", "size=4k"},
		})
	}
	g.NoNewPrivileges = new(true)
	g.CapDrop = []string{"all"}
	g.CapAdd = capabilities
	g.NetNS = specgen.Namespace{NSMode: specgen.NoNetwork}
	g.IpcNS = specgen.Namespace{NSMode: specgen.Private} // the host's containers.conf may have another default
	g.ResourceLimits = limits
	g.Rlimits = []rspec.POSIXRlimit{
		// Programs fail at the soft limit, and few raise it.
		{Type: "nofile", Soft: uint64(cmp.Or(s.Files, leastFiles)), Hard: uint64(cmp.Or(s.Files, leastFiles))},
		{Type: "nproc", Soft: processes, Hard: processes},
	}
	if slot >= 0 {
		ids := []idtools.IDMap{{ContainerID: 0, HostID: firstID + slot*idsPerSlot, Size: idsPerSlot}}
		g.UserNS = specgen.Namespace{NSMode: specgen.Private}
		g.IDMappings = &types.IDMappingOptions{UIDMap: ids, GIDMap: ids}
	}
	g.Labels[labelStrength] = strength(s.Runtime, slot, g)
	return g
}
