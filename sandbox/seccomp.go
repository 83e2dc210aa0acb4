package sandbox

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/renameio/v2"
	rspec "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// The seccomp profile is a list of allowed system calls: podman's default, without those that only 32-bit programs
// make, and without namespaces, mounts, keyrings, io_uring, attaching to other processes, and sockets of unusual
// families. Every other call does not exist for a program in a container, so that it can fall back to another one.
//
// The OCI runtime compiles the profile whenever a container or a command in one starts. Podman's default costs 12 ms of
// processor time there, mostly because it covers three architectures; this one costs 3 ms. It names no architecture:
// that leaves the host's own.

// allowed may be called with any argument.
var allowed = strings.Fields(`
accept accept4 access adjtimex alarm arch_prctl bind brk capget capset chdir chmod chown clock_adjtime clock_getres
clock_gettime clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1
epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2
fadvise64 fallocate fchdir fchmod fchmodat fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fork
fremovexattr fsetxattr fstat fstatfs fsync ftruncate futex futimesat get_mempolicy get_robust_list get_thread_area
getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid
getpriority getrandom getresgid getresuid getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid
getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_setup
io_submit ioctl ioprio_get ioprio_set kill landlock_add_rule landlock_create_ruleset landlock_restrict_self lchown
lgetxattr link linkat listen listxattr llistxattr lremovexattr lseek lsetxattr lstat madvise mbind membarrier
memfd_create memfd_secret mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mprotect mq_getsetattr
mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap msgctl msgget msgrcv msgsnd msync munlock munlockall
munmap name_to_handle_at nanosleep newfstatat open openat openat2 pause pidfd_open pidfd_send_signal pipe pipe2
pkey_alloc pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64 process_mrelease pselect6 pwrite64
pwritev pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg recvmsg remap_file_pages removexattr rename
renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity
sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam
sched_setscheduler sched_yield seccomp select semctl semget semop semtimedop sendfile sendmmsg sendmsg sendto
set_mempolicy set_robust_list set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid
setpriority setregid setresgid setresuid setreuid setrlimit setsid setsockopt setuid setxattr shmat shmctl shmdt shmget
shutdown sigaltstack signalfd signalfd4 splice stat statfs statx symlink symlinkat sync sync_file_range syncfs sysinfo
syslog tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
timerfd_gettime timerfd_settime times tkill truncate umask uname unlink unlinkat utime utimensat utimes vfork wait4
waitid write writev`)

// forbidden are answered with EPERM, as the kernel answers a caller without privileges: programs expect that.
var forbidden = strings.Fields(`
acct bpf chroot clock_settime delete_module finit_module fsconfig fsmount fsopen fspick init_module ioperm iopl kcmp
kexec_file_load kexec_load mount mount_setattr move_mount open_by_handle_at open_tree perf_event_open pidfd_getfd
pivot_root process_vm_readv process_vm_writev quotactl quotactl_fd reboot setdomainname sethostname setns settimeofday
swapoff swapon umount2 userfaultfd vhangup`)

// newNamespace are the flags of clone that make namespaces. CLONE_NEWTIME is not among them: clone reads its bit as
// part of a signal number.
var newNamespace = []uint64{unix.CLONE_NEWNS, unix.CLONE_NEWCGROUP, unix.CLONE_NEWUTS, unix.CLONE_NEWIPC,
	unix.CLONE_NEWUSER, unix.CLONE_NEWPID, unix.CLONE_NEWNET}

// traceable are the requests to ptrace that a debugger needs for a program that it starts, as first number and count:
// all but PTRACE_ATTACH (16) and PTRACE_SEIZE (0x4206), which attach to a running program.
var traceable = [][2]uint64{{0, 16}, {17, 1}, {18, 2}, {20, 4}, {24, 8}, {32, 1}, {0x4200, 4}, {0x4204, 2}, {0x4207, 1},
	{0x4208, 8}}

// rules returns the profile's rules. Those of one call must not overlap: libseccomp does not promise which one counts.
func rules() []rspec.LinuxSyscall {
	list := []rspec.LinuxSyscall{
		{Names: allowed, Action: rspec.ActAllow},
		refuse(unix.EPERM, forbidden),

		allow("socketpair", arg(0, rspec.OpEqualTo, unix.AF_UNIX)),
		allow("socket", arg(0, rspec.OpEqualTo, unix.AF_UNIX)),
		allow("socket", arg(0, rspec.OpEqualTo, unix.AF_INET)),
		allow("socket", arg(0, rspec.OpEqualTo, unix.AF_INET6)),
		allow("socket", arg(0, rspec.OpEqualTo, unix.AF_NETLINK), arg(2, rspec.OpNotEqual, unix.NETLINK_AUDIT)),
		// After this answer, programs such as useradd go on without the kernel's audit log.
		refuse(unix.EINVAL, []string{"socket"}, arg(0, rspec.OpEqualTo, unix.AF_NETLINK),
			arg(2, rspec.OpEqualTo, unix.NETLINK_AUDIT)),
		refuse(unix.EAFNOSUPPORT, []string{"socket"}, arg(0, rspec.OpGreaterThan, unix.AF_NETLINK)),

		refuse(unix.EPERM, []string{"ptrace"}, arg(0, rspec.OpEqualTo, unix.PTRACE_ATTACH)),
		refuse(unix.EPERM, []string{"ptrace"}, arg(0, rspec.OpEqualTo, unix.PTRACE_SEIZE)),
		refuse(unix.EPERM, []string{"unshare"}, arg(0, rspec.OpNotEqual, 0)),
	}
	for _, value := range []uint64{0, linux32, uname26, linux32 | uname26, 0xffffffff /* asks for the current one */} {
		list = append(list, allow("personality", arg(0, rspec.OpEqualTo, value)))
	}
	for _, r := range traceable {
		list = append(list, allow("ptrace", masked(0, 0xffffffff&^(r[1]-1), r[0])))
	}
	all := uint64(0)
	for _, flag := range newNamespace {
		all |= flag
		list = append(list, refuse(unix.EPERM, []string{"clone"}, masked(0, flag, flag)))
	}
	return append(list, allow("clone", masked(0, all, 0)))
}

// Values for personality(2).
const linux32, uname26 = 0x8, 0x20000

func allow(name string, args ...rspec.LinuxSeccompArg) rspec.LinuxSyscall {
	return rspec.LinuxSyscall{Names: []string{name}, Action: rspec.ActAllow, Args: args}
}

func refuse(with unix.Errno, names []string, args ...rspec.LinuxSeccompArg) rspec.LinuxSyscall {
	return rspec.LinuxSyscall{Names: names, Action: rspec.ActErrno, ErrnoRet: new(uint(with)), Args: args}
}

func arg(index uint, op rspec.LinuxSeccompOperator, value uint64) rspec.LinuxSeccompArg {
	return rspec.LinuxSeccompArg{Index: index, Op: op, Value: value}
}

// masked compares some bits of an argument.
func masked(index uint, mask, value uint64) rspec.LinuxSeccompArg {
	return rspec.LinuxSeccompArg{Index: index, Op: rspec.OpMaskedEqual, Value: mask, ValueTwo: value}
}

// profile is the seccomp profile of all containers.
type profile struct {
	data []byte // as podman reads it
	// name changes with the profile; it is on the container's label.
	name string
	// mark is the error with which the filter answers unshare(0), a call that does nothing. It follows from the rules, and
	// no other profile or kernel has it: so boxinit recognizes the filter.
	mark int
}

var theProfile = sync.OnceValue(func() profile {
	p := rspec.LinuxSeccomp{DefaultAction: rspec.ActErrno, DefaultErrnoRet: new(uint(unix.ENOSYS)), Syscalls: rules()}
	encode := func() []byte {
		data, err := json.Marshal(p)
		if err != nil {
			panic(err) // of strings and numbers
		}
		return data
	}
	sum := sha256.Sum256(encode())
	const known, most = 1024, 4095 // errors of the kernel are below, and a filter's at most
	mark := known + binary.BigEndian.Uint32(sum[:])%(most-known+1)
	p.Syscalls = append(p.Syscalls, refuse(unix.Errno(mark), []string{"unshare"}, arg(0, rspec.OpEqualTo, 0)))
	return profile{encode(), hex.EncodeToString(sum[:8]), int(mark)}
})

// SeccompMark is the error with which the profile answers: see [boxinit.Strength].
func SeccompMark() int { return theProfile().mark }

// SeccompProfile returns the profile, as the OCI runtime and kubelet read it.
func SeccompProfile() []byte { return bytes.Clone(theProfile().data) }

// writeProfile writes the profile into a folder that podman can read, "" = that for temporary files, and returns its
// path. Podman reads it when it creates a container.
func writeProfile(dir string) (path string, err error) {
	path = filepath.Join(cmp.Or(dir, os.TempDir()), "seccomp-"+theProfile().name+".json")
	if err := renameio.WriteFile(path, theProfile().data, 0o644); err != nil {
		return "", fmt.Errorf("write seccomp profile: %w", err)
	}
	return path, nil
}
