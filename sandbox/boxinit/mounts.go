package boxinit

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

var (
	// podmanFiles are the files that podman mounts into each container.
	podmanFiles = []string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/localtime", "/run/.containerenv"}
	// kernelTypes are the file systems of the kernel and of memory: what is below kernelFolders shows no file of a disk.
	kernelTypes = []string{"proc", "sysfs", "tmpfs", "devtmpfs", "devpts", "mqueue", "cgroup", "cgroup2", "debugfs",
		"tracefs", "securityfs",
		"pstore", "bpf", "configfs", "fusectl", "efivarfs"}
	kernelFolders = []string{"/dev", "/proc", "/sys"}
)

const (
	timeZones = "/usr/share/zoneinfo/" // podman 4 mounts the zone of containers.conf where /etc/localtime points to
	emptied   = "/.empty-directory"    // crun 1.24 and later mounts its own folder of this name over those that are hidden
)

// mounts lists what is wrong with the container's mounts: see proc_pid_mountinfo(5) for the format.
func (s Strength) mounts(root string) (weak []string) {
	data, err := os.ReadFile(root + "proc/self/mountinfo")
	if err != nil {
		return []string{"the mounts cannot be listed: " + err.Error()}
	}
	found := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		before, after, _ := strings.Cut(line, " - ")
		fields, types := strings.Fields(before), strings.Fields(after)
		if len(fields) < 6 || len(types) == 0 {
			return []string{fmt.Sprintf("the list of mounts has the line %q", strings.TrimSpace(line))}
		}
		m := mount{root: fields[3], point: fields[4], kind: types[0], options: strings.Split(fields[5], ",")}
		m.hidden = strings.HasSuffix(m.root, emptied) && slices.Contains(m.options, "ro")
		wanted, own := s.Mounts[m.point]
		found[m.point] = true
		if !own && !s.ordinary(root, m) {
			weak = append(weak, "there is a mount at "+m.point)
		}
		if s.Runtime != GVisor && (strings.HasPrefix(m.kind, "cgroup") || m.point == "/proc/sys" ||
			s.Pod != nil && s.Pod.readOnly(m)) {
			wanted = []string{"ro"}
		}
		for _, option := range wanted {
			if (option == "nodev" || option == "nosuid") && s.Runtime == GVisor {
				continue // not shown by every release; no device in it is the host's, and no program can gain privileges
			}
			if !slices.Contains(m.options, option) {
				weak = append(weak, fmt.Sprintf("the mount at %s is not %s", m.point, option))
			}
		}
	}
	for point := range s.Mounts {
		if !found[point] {
			weak = append(weak, "there is no mount at "+point)
		}
	}
	if s.Runtime != GVisor && !found["/proc/sys"] {
		weak = append(weak, "the kernel's settings in /proc/sys are not read-only")
	}
	if s.Pod != nil && s.Runtime != GVisor {
		weak = append(weak, s.Pod.missing(root, found)...)
	}
	slices.Sort(weak)
	return weak
}

// ordinary reports whether every container has a mount like that; root is where the container's files are. GVisor has
// /tmp in memory, and types of its own.
func (s Strength) ordinary(root string, m mount) bool {
	if s.Pod != nil {
		return s.Pod.ordinary(root, m, s.Runtime == GVisor)
	}
	if m.point == "/" || slices.Contains(podmanFiles, m.point) || strings.HasPrefix(m.point, timeZones) ||
		m.point == "/tmp" && s.Runtime == GVisor {
		return true
	}
	return (slices.Contains(kernelTypes, m.kind) || m.hidden || s.Runtime == GVisor) && m.ofKernel()
}

// ofKernel reports whether it is where the kernel has its files.
func (m mount) ofKernel() bool {
	return slices.ContainsFunc(kernelFolders, func(folder string) bool {
		return m.point == folder || strings.HasPrefix(m.point, folder+"/")
	})
}
