package release

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
)

// execTimes, in the environment, makes this test binary execute itself that often, from a thread that is not its first,
// and then wait for its stdin.
const execTimes = "MATRIX_TUI_TEST_EXEC"

func TestMain(m *testing.M) {
	if how := os.Getenv(dieOf); how != "" {
		die(how)
	}
	left, err := strconv.Atoi(os.Getenv(execTimes))
	if err != nil {
		os.Exit(m.Run())
	}
	if left == 0 {
		fmt.Println("done")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		self, err := os.Executable()
		if err == nil {
			err = os.Setenv(execTimes, strconv.Itoa(left-1))
		}
		if err == nil {
			err = syscall.Exec(self, os.Args[:1], os.Environ())
		}
		failed <- err
	}()
	fmt.Fprintln(os.Stderr, <-failed)
	os.Exit(1)
}

// A release that executes the next one counts as running throughout, and as ended when it has, even before it is waited
// for.
func TestRunsThroughExec(t *testing.T) {
	b := Base(t.TempDir())
	r := Record{From: "000000000001", To: "000000000002"}
	program := b.Program(r.To)
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := copyFile(self, program, false); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), execTimes+"=100")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.PID = cmd.Process.Pid
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.ReadFull(stdout, make([]byte, len("done\n")))
	}()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		default:
		}
		if !b.runs(r) {
			t.Fatal("it counted as gone while it executed itself")
		}
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	for b.runs(r) { // a zombie at the end, until Wait
		runtime.Gosched()
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}
