package boxinit

import (
	"os"
	"path"
	"slices"
	"strings"
)

// mount is a line of proc_pid_mountinfo(5).
type mount struct {
	root, point, kind string // root is what is mounted, as a path in its file system
	options           []string
	hidden            bool // an empty folder hides what is there
}

// podFiles are files of the node that kubelet and the runtime mount into each container.
var podFiles = []string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/dev/termination-log"}

// podKernel are the file systems of the kernel in each container of a pod, by where they are.
var podKernel = map[string][]string{
	"/proc":          {"proc"},
	"/dev":           {"tmpfs"},
	"/dev/pts":       {"devpts"},
	"/dev/shm":       {"tmpfs"},
	"/dev/mqueue":    {"mqueue"},
	"/dev/console":   {"devpts"},
	"/sys":           {"sysfs"},
	"/sys/fs/cgroup": {"cgroup2", "cgroup", "tmpfs"},
}

// podDevices are mounted one by one in a user namespace, where no device can be made.
var podDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/random", "/dev/urandom"}

// podReadOnly are, besides /proc/sys, what would let root of the host change it without a capability. A kernel need not
// have them.
var podReadOnly = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sysrq-trigger"}

// ordinary reports whether each container of a pod has a mount like that; root is where the container's files are.
// Other files of the kernel are not accepted: a folder of the node, such as /run, may be in memory.
func (p *Pod) ordinary(root string, m mount, gVisor bool) bool {
	if m.point == "/" {
		return true
	}
	if slices.Contains(podFiles, m.point) {
		info, err := os.Lstat(root + m.point)
		return err == nil && info.Mode().IsRegular() // not a folder or a socket
	}
	if gVisor { // what it has from the node is 9p
		return m.kind != "9p" && (m.point == "/tmp" || m.ofKernel())
	}
	if kinds, ok := podKernel[m.point]; ok {
		return slices.Contains(kinds, m.kind)
	}
	null := m.root == "/null" && (m.kind == "tmpfs" || m.kind == "devtmpfs")
	empty := m.kind == "tmpfs" && m.root == "/" && slices.Contains(m.options, "ro")
	switch {
	case slices.Contains(podDevices, m.point):
		return m.root == "/"+path.Base(m.point) && (m.kind == "tmpfs" || m.kind == "devtmpfs")
	case strings.HasPrefix(m.point, "/proc/"):
		return m.kind == "proc" || null || empty || m.hidden
	case strings.HasPrefix(m.point, "/sys/fs/cgroup/"):
		return m.kind == "cgroup"
	case strings.HasPrefix(m.point, "/sys/"):
		return empty || m.hidden
	}
	return false
}

// readOnly reports whether a pod's mount must be read-only: root of the host could change the host there.
func (p *Pod) readOnly(m mount) bool {
	return m.kind == "sysfs" || m.kind == "proc" && m.point != "/proc"
}

// missing lists what must be a mount of its own and is not one.
func (p *Pod) missing(root string, found map[string]bool) (weak []string) {
	for _, point := range podReadOnly {
		if _, err := os.Lstat(root + point); err == nil && !found[point] {
			weak = append(weak, point+" is not read-only")
		}
	}
	return weak
}
