package boxinit

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Strength is how isolated a container must be, as seen from inside. Some settings get lost between the bot and the
// kernel without an error.
type Strength struct {
	// Runtime says whose kernel the container must have to itself: GVisor, "" = it shares the host's.
	Runtime string
	// Mark is the error number with which the bot's seccomp filter, and nothing else, answers unshare(0).
	Mark int
	// Capabilities are the only ones that a process may have, as a bit mask.
	Capabilities uint64
	// FirstID is the host's user and group ID that is root in the container, which has IDs of them; 0 = any but the host's
	// root.
	FirstID, IDs uint32
	// Memory is the limit in bytes, PIDs the one on processes and threads; 0 = none.
	Memory, PIDs int64
	// CPU is the limit on processors in hundredths of one, Files the one on open files of a process; 0 = none.
	CPU   int64
	Files uint64
	// Mounts are the only mounts besides those that every container has, with the options that each must have; nil = any,
	// but none in a pod.
	Mounts map[string][]string
	// Pod says what differs in a pod of Kubernetes; nil = podman runs the container. An older boxinit does not know it.
	Pod *Pod `json:",omitempty"`
}

// weaknesses says what is weaker than strength, a [Strength] in JSON. A process inherits all of it, so what this one
// finds in itself holds for everything that it starts. The network is that of a pod.
func weaknesses(strength string, n *network) (string, error) {
	var s Strength
	in := json.NewDecoder(strings.NewReader(strength))
	in.DisallowUnknownFields() // of a newer bot: what this one does not know it cannot verify
	if err := in.Decode(&s); err != nil {
		return "", fmt.Errorf("read strength: %w", err)
	}
	weak := s.inFiles("/")
	if s.Runtime != GVisor {
		weak = append(weak, s.seccomp()...)
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); s.Files > 0 && (err != nil || files.Max > s.Files) {
		weak = append(weak, fmt.Sprintf("the limit of %d open files is not in force", s.Files))
	}
	if s.Runtime != "" {
		weak = append(weak, s.kernel()...)
	}
	if s.Pod != nil {
		weak = append(weak, n.open(s.Pod.Closed)...)
	} else {
		weak = append(weak, interfaces()...)
	}
	return strings.Join(weak, "; "), nil
}

// seccomp says what is wrong with the seccomp profile.
func (s Strength) seccomp() []string {
	if s.Pod != nil && s.Pod.AnySeccomp {
		return notRefused(refusedCalls)
	}
	if err := unix.Unshare(0); !errors.Is(err, unix.Errno(s.Mark)) {
		return []string{"the seccomp profile is not the bot's"}
	}
	return nil
}

// interfaces lists the network interfaces, of which a container of podman has none.
func interfaces() (weak []string) {
	list, err := net.Interfaces()
	if err != nil {
		return []string{"network interfaces cannot be listed: " + err.Error()}
	}
	for _, i := range list {
		// A kernel may put tunnels into each network. Nobody in a container can bring them up.
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
			weak = append(weak, "there is a network interface, "+i.Name)
		}
	}
	return weak
}

// inFiles lists what the files below root show.
func (s Strength) inFiles(root string) (weak []string) {
	say := func(format string, args ...any) { weak = append(weak, fmt.Sprintf(format, args...)) }
	data, _ := os.ReadFile(root + "proc/self/status")
	status := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(line, ":")
		status[key] = strings.TrimSpace(value)
	}
	if s.Runtime == GVisor {
		olderGVisor(status)
	}
	if status["Seccomp"] != "2" && s.Runtime != GVisor {
		say("no seccomp filter is active")
	}
	if status["NoNewPrivs"] != "1" {
		say("programs can gain privileges (no_new_privs is not set)")
	}
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		if got, err := strconv.ParseUint(status[set], 16, 64); err != nil || got&^s.Capabilities != 0 {
			say("the capabilities %s are %q, not within %016x", set, status[set], s.Capabilities)
		}
	}
	if s.Mounts != nil || s.Pod != nil {
		weak = append(weak, s.mounts(root)...)
	}
	if s.Pod != nil {
		weak = append(weak, s.Pod.inFiles(root)...)
	}
	if s.Runtime == GVisor {
		return weak // its files say nothing about the host: see kernel
	}
	for _, name := range []string{"uid_map", "gid_map"} {
		data, _ := os.ReadFile(root + "proc/self/" + name)
		if !s.maps(string(data)) && (s.Pod == nil || !s.Pod.HostIDs) {
			say("the %s is %q", name, strings.Join(strings.Fields(string(data)), " "))
		}
	}
	if s.Memory > 0 && limit(root, "memory.max", "memory/memory.limit_in_bytes") > s.Memory {
		say("the memory limit of %d bytes is not in force", s.Memory)
	}
	if s.PIDs > 0 && limit(root, "pids.max", "pids/pids.max") > s.PIDs {
		say("the limit of %d processes is not in force", s.PIDs)
	}
	if s.CPU > 0 && limit(root, "cpu.max", "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us") > s.CPU {
		say("the limit of %d %% of a processor is not in force", s.CPU)
	}
	return weak
}

// maps reports whether a user namespace maps IDs as it must; see user_namespaces(7) for the format.
func (s Strength) maps(text string) bool {
	fields := strings.Fields(text)
	if s.FirstID != 0 {
		return strings.Join(fields, " ") == fmt.Sprintf("0 %d %d", s.FirstID, s.IDs)
	}
	return len(fields) >= 3 && fields[0] == "0" && fields[1] != "0"
}

// limit returns the smallest limit of a cgroup of version 2 or 1 and of those above it that the container sees. One
// that consists of a quota and a period is returned as a percentage.
func limit(root, two string, one ...string) int64 {
	cgroups, least := root+"sys/fs/cgroup/", int64(math.MaxInt64)
	take := func(paths ...string) {
		var fields []string
		for _, path := range paths {
			data, _ := os.ReadFile(cgroups + path)
			fields = append(fields, strings.Fields(string(data))...)
		}
		if len(fields) == 0 {
			return
		}
		n, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil || n < 0 {
			return // no limit
		}
		if len(fields) > 1 {
			period, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil || period <= 0 {
				return
			}
			n = (n*100 + period - 1) / period
		}
		least = min(least, n)
	}
	take(one...)
	list, _ := os.ReadFile(root + "proc/self/cgroup")
	for line := range strings.Lines(string(list)) {
		if own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok { // version 2
			for dir := path.Clean("/" + own); ; dir = path.Dir(dir) {
				take(path.Join(dir, two))
				if dir == "/" {
					break
				}
			}
		}
	}
	return least
}
