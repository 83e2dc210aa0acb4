// Command attack makes one system call that a container must not be able to make, or one that it must. It prints "done"
// if the kernel made it, and otherwise the kernel's answer.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

var attacks = map[string]func() error{
	"alg":      func() error { return open(unix.AF_ALG, unix.SOCK_SEQPACKET) },
	"vsock":    func() error { return open(unix.AF_VSOCK, unix.SOCK_STREAM) },
	"packet":   func() error { return open(unix.AF_PACKET, unix.SOCK_RAW) },
	"x25":      func() error { return open(unix.AF_X25, unix.SOCK_SEQPACKET) },
	"high-alg": func() error { return call(unix.SYS_SOCKET, 1<<32|unix.AF_ALG, unix.SOCK_SEQPACKET) },
	"audit":    func() error { return call(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT) },
	"alg-pair": func() error { return call(unix.SYS_SOCKETPAIR, unix.AF_ALG, unix.SOCK_SEQPACKET) },
	"netlink":  func() error { return open(unix.AF_NETLINK, unix.SOCK_RAW) },
	"inet6":    func() error { return open(unix.AF_INET6, unix.SOCK_STREAM) },
	// The first flag needs no right and no namespace, so that only the profile refuses it.
	"unshare":      func() error { return unix.Unshare(unix.CLONE_FS) },
	"clone":        func() error { return child(unix.CLONE_NEWUSER) },
	"clone-nested": func() error { return child(unix.CLONE_NEWUSER | unix.CLONE_NEWNET) },
	"clone3":       func() error { return call(unix.SYS_CLONE3) },
	"keyctl": func() error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_PROCESS_KEYRING, true)
		return err
	},
	"add-key": func() error {
		_, err := unix.AddKey("user", "name", []byte("value"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	},
	"io-uring": func() error {
		var params [120]byte // struct io_uring_params
		return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
	},
	"attach": func() error { return toChild(unix.PtraceAttach) },
	"seize":  func() error { return toChild(unix.PtraceSeize) },
	"trace":  trace,
	"read-memory": func() error {
		return toChild(func(pid int) error {
			_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{}}, []unix.RemoteIovec{{}}, 0)
			return err
		})
	},
	"bpf":         func() error { return call(unix.SYS_BPF, 1<<16) },
	"userfaultfd": func() error { return call(unix.SYS_USERFAULTFD, 1 /* UFFD_USER_MODE_ONLY */) },
	"mount":       func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
	"open-tree":   func() error { return call(unix.SYS_OPEN_TREE, ^uintptr(0)) },
	"unknown":     func() error { return call(999) },
	"personality": func() error { return call(unix.SYS_PERSONALITY, 0x40000 /* ADDR_NO_RANDOMIZE */) },
	"linux32":     func() error { return call(unix.SYS_PERSONALITY, 8 /* PER_LINUX32 */) },
}

func main() {
	attack := attacks[os.Args[1]]
	if attack == nil {
		fmt.Println("no such attack")
		os.Exit(2)
	}
	if err := attack(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("done")
}

func open(family, kind int) error {
	fd, err := unix.Socket(family, kind, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func call(number uintptr, args ...uintptr) error {
	var a [3]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall(number, a[0], a[1], a[2]); errno != 0 {
		return errno
	}
	return nil
}

// child starts a process in new namespaces.
func child(flags uintptr) error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	return cmd.Run()
}

// toChild does something to a process of its own.
func toChild(do func(pid int) error) error {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	return do(cmd.Process.Pid)
}

// trace does what a debugger does with a program that it starts.
func trace() error {
	runtime.LockOSThread()
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Process.Kill()
	pid := cmd.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
		return err
	}
	if !status.Stopped() {
		return fmt.Errorf("status %#x", status)
	}
	var regs unix.PtraceRegs
	for _, do := range []func() error{
		func() error { return unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACECLONE) },
		func() error { return unix.PtraceGetRegs(pid, &regs) },
		func() error { return unix.PtraceSyscall(pid, 0) },
		func() error { _, err := unix.Wait4(pid, &status, 0, nil); return err },
		func() error { return unix.PtraceDetach(pid) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}
