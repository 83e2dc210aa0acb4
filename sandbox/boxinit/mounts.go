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
		point, options := fields[4], strings.Split(fields[5], ",")
		wanted, own := s.Mounts[point]
		found[point] = true
		hidden := strings.HasSuffix(fields[3], emptied) && slices.Contains(options, "ro")
		if !own && !s.ordinary(point, types[0], hidden) {
			weak = append(weak, "there is a mount at "+point)
		}
		if s.Runtime != GVisor && (strings.HasPrefix(types[0], "cgroup") || point == "/proc/sys") {
			wanted = []string{"ro"}
		}
		for _, option := range wanted {
			if (option == "nodev" || option == "nosuid") && s.Runtime == GVisor {
				continue // not shown by every release; no device in it is the host's, and no program can gain privileges
			}
			if !slices.Contains(options, option) {
				weak = append(weak, fmt.Sprintf("the mount at %s is not %s", point, option))
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
	slices.Sort(weak)
	return weak
}

// ordinary reports whether every container has a mount like that; hidden says that an empty folder hides what is there.
// GVisor has /tmp in memory, and types of its own.
func (s Strength) ordinary(point, kind string, hidden bool) bool {
	if point == "/" || slices.Contains(podmanFiles, point) || strings.HasPrefix(point, timeZones) ||
		point == "/tmp" && s.Runtime == GVisor {
		return true
	}
	return (slices.Contains(kernelTypes, kind) || hidden || s.Runtime == GVisor) &&
		slices.ContainsFunc(kernelFolders, func(folder string) bool {
			return point == folder || strings.HasPrefix(point, folder+"/")
		})
}
