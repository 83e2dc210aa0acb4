package boxinit

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// attempt makes a system call.
type attempt struct {
	name string
	make func() error
}

// refusedCalls are those that a pod's seccomp profile must refuse, whoever wrote it. The default profile of containerd
// does since 1.6, for a container without capabilities. It allows io_uring before 2.0, and sockets of unusual families
// (AF_VSOCK, AF_ALG) in more versions, so these are not here.
//
// Each call has arguments with which it changes nothing. Where possible, a kernel without a filter complains about them
// before it looks at privileges, and so differs from one with a filter.
var refusedCalls = []attempt{
	{"unshare", func() error { return unix.Unshare(unix.CLONE_NEWUSER) }}, // EINVAL with more than one thread
	{"clone", raw(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS)},      // EINVAL: these exclude each other
	{"clone3", raw(unix.SYS_CLONE3)},                                      // EINVAL: too short
	// EINVAL: nothing is mounted there. Who may not mount gets EPERM before.
	{"mount", func() error { return unix.Mount("", "/proc/self/status", "", unix.MS_PRIVATE, "") }},
	{"keyctl", raw(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(0))}, // the thread's keyring: ENOKEY
	{"add_key", raw(unix.SYS_ADD_KEY)},                                        // EFAULT
	{"request_key", raw(unix.SYS_REQUEST_KEY)},                                // EFAULT
	{"bpf", raw(unix.SYS_BPF, ^uintptr(0))},                                   // EINVAL: no such command
	{"perf_event_open", raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, ^uintptr(0))},
	{"userfaultfd", raw(unix.SYS_USERFAULTFD, ^uintptr(0))}, // EINVAL: no such flags
}

// raw is a call with these arguments and zeros.
func raw(number uintptr, args ...uintptr) func() error {
	return func() error {
		var all [6]uintptr
		copy(all[:], args)
		if _, _, errno := unix.Syscall6(number, all[0], all[1], all[2], all[3], all[4], all[5]); errno != 0 {
			return errno
		}
		return nil
	}
}

// notRefused says which calls reach the kernel, or reach more of it than the check of privileges.
func notRefused(calls []attempt) (weak []string) {
	var names []string
	for _, c := range calls {
		err := c.make()
		is := func(errno unix.Errno) bool { return errors.Is(err, errno) }
		if !slices.ContainsFunc([]unix.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS}, is) {
			names = append(names, c.name)
		}
	}
	if names == nil {
		return nil
	}
	return []string{"the seccomp profile allows " + strings.Join(names, ", ")}
}
