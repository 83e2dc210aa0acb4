package boxinit

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	unfiltered = "(no filter)"
	noCall     = "(none)"
)

// callNumbers are the numbers of refusedCalls.
var callNumbers = map[string]uint32{"unshare": unix.SYS_UNSHARE, "clone": unix.SYS_CLONE, "clone3": unix.SYS_CLONE3,
	"mount": unix.SYS_MOUNT, "keyctl": unix.SYS_KEYCTL, "add_key": unix.SYS_ADD_KEY, "request_key": unix.SYS_REQUEST_KEY,
	"bpf": unix.SYS_BPF, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "userfaultfd": unix.SYS_USERFAULTFD}

// makeCalls prints what notRefused says under a filter that refuses all of them but one.
func makeCalls(allowed string) (code int) {
	if allowed != unfiltered {
		if err := filter(allowed); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	fmt.Print(strings.Join(notRefused(refusedCalls), "; "))
	return 0
}

// filter loads a seccomp filter for all threads of this process.
func filter(allowed string) error {
	statement := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	equal := func(k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: skip}
	}
	refuse := statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	const number, argument = 0, 16 // in struct seccomp_data
	load := statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, number)
	program := []unix.SockFilter{load}
	for _, c := range refusedCalls {
		switch {
		case c.name == allowed:
		case c.name == "clone": // threads are made with it
			program = append(program, equal(unix.SYS_CLONE, 4), statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, argument),
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_NEWUSER, Jf: 1}, refuse, load)
		default:
			program = append(program, equal(callNumbers[c.name], 1), refuse)
		}
	}
	program = append(program, statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	list := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&list)))
	if errno != 0 {
		return errno
	}
	return nil
}

// Each call is noticed if a filter lets it pass, and no other one.
func TestRefusedCalls(t *testing.T) {
	calls := func(allowed string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
		cmd.Env = append(os.Environ(), "BOXINIT_TEST_CALL="+allowed)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v, %s", allowed, err, out)
		}
		return string(out)
	}
	if got := calls(noCall); got != "" {
		t.Errorf("all are refused: %q", got)
	}
	_, list, _ := strings.Cut(calls(unfiltered), "the seccomp profile allows ")
	here := strings.Split(list, ", ")
	for _, c := range refusedCalls {
		want := ""
		if slices.Contains(here, c.name) {
			want = "the seccomp profile allows " + c.name
		}
		if got := calls(c.name); got != want {
			t.Errorf("%s is allowed: %q, want %q", c.name, got, want)
		}
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(status), "Seccomp:\t0\n") {
		return // a filter is active here already
	}
	for _, name := range []string{"unshare", "clone", "clone3", "keyctl", "add_key"} { // who may do the others depends
		if !slices.Contains(here, name) {
			t.Errorf("%s is not noticed without a filter: %q", name, here)
		}
	}
}
