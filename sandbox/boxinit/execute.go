package boxinit

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
)

// execute starts the command in its own session; an error means that it was not executed.
func execute(spec RunSpec, stdin, stdout, stderr *os.File) (pid int, err error) {
	dir := cmp.Or(spec.Dir, "/workspace")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return 0, fmt.Errorf("run %s: directory %s does not exist", spec.ID, dir)
	}
	cmd := exec.Command(spec.Argv[0], spec.Argv[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, stdin, stdout, stderr
	own := []string{RunVariable + "=" + spec.ID}
	cmd.Env = slices.Concat([]string{"HOME=/root"}, os.Environ(), spec.Env, own) // the last one of a name counts
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); errors.Is(err, exec.ErrNotFound) {
		return 0, fmt.Errorf("run %s: command %s is not on the PATH", spec.ID, spec.Argv[0])
	} else if err != nil {
		return 0, fmt.Errorf("run %s: execute %s: %w", spec.ID, spec.Argv[0], err)
	}
	pid = cmd.Process.Pid
	return pid, cmd.Process.Release() // the supervisor reaps it
}

// killFirst sets how soon the kernel kills the command if memory runs out: 0 to 1000.
func (r *supervised) killFirst(score int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", r.main), []byte(strconv.Itoa(score)), 0)
}

// feed writes a command's input. It waits while the command does not read.
func feed(stdin *os.File, input []byte) {
	_, _ = stdin.Write(input)
	stdin.Close()
}
