package boxinit

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// GVisor is the runtime that gives a container a kernel of its own.
const GVisor = "runsc"

// gVisorBuilt is when gVisor's kernel was built, as each of its releases says; no other kernel was built then.
const gVisorBuilt = "#1 SMP Sun Jan 10 15:06:54 PST 2016"

// kernel lists why the container does not have the kernel that its runtime must give it.
//
// gVisor is checked in fewer ways than a container that shares the host's kernel. Its kernel is an ordinary process of
// the host's: what system calls, user IDs and processes that one may have is between podman and the host's kernel, and
// cannot be seen from inside. The bot's seccomp profile protects the host's kernel from calls that reach only gVisor's
// here, so it is not loaded. The memory limit shows, unless podman is rootless: gVisor says that there is no more
// memory than that.
func (s Strength) kernel() (weak []string) {
	if s.Runtime != GVisor {
		return []string{fmt.Sprintf("the runtime %q is unknown", s.Runtime)}
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil || unix.ByteSliceToString(name.Version[:]) != gVisorBuilt {
		return []string{"the kernel is not gVisor's"}
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); s.Memory > 0 && (err != nil || info.Totalram*uint64(info.Unit) > uint64(s.Memory)) {
		weak = append(weak, fmt.Sprintf("the memory limit of %d bytes is not in force", s.Memory))
	}
	return weak
}

// olderGVisor adds what releases before 2025 do not show. They have no ambient capabilities, and tell about
// no_new_privs only who asks.
func olderGVisor(status map[string]string) {
	if _, shown := status["CapAmb"]; !shown && status["CapBnd"] != "" {
		status["CapAmb"] = "0"
	}
	if _, shown := status["NoNewPrivs"]; !shown {
		if is, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err == nil {
			status["NoNewPrivs"] = strconv.Itoa(is)
		}
	}
}
