package boxinit

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// execute starts the command in its own session; an error means that it was not executed.
func execute(spec RunSpec, stdin *os.File, stdout, stderr int) (pid int, err error) {
	env := environment(os.Environ(), spec.Env, spec.ID)
	dir := spec.Dir
	if dir == "" {
		dir = "/workspace"
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return 0, fmt.Errorf("run %s: directory %s does not exist", spec.ID, dir)
	}
	path, err := lookPath(spec.Argv[0], dir, env)
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", spec.ID, err)
	}
	pid, err = syscall.ForkExec(path, spec.Argv, &syscall.ProcAttr{
		Dir: dir, Env: env,
		Files: []uintptr{stdin.Fd(), uintptr(stdout), uintptr(stderr)},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("run %s: execute %s: %w", spec.ID, path, err)
	}
	return pid, nil
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

// environment returns base with the additions and the mark of the run.
func environment(base, additions []string, id string) []string {
	var env []string
	at := make(map[string]int)
	home := []string{"HOME=/root"}
	for _, list := range [][]string{home, base, additions, {RunVariable + "=" + id}} {
		for _, kv := range list {
			key, _, ok := strings.Cut(kv, "=")
			if !ok || strings.ContainsRune(kv, 0) {
				continue
			}
			if i, known := at[key]; known {
				env[i] = kv
				continue
			}
			at[key] = len(env)
			env = append(env, kv)
		}
	}
	return env
}

// lookPath finds a command as a shell would, in the PATH of env.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, kv := range env {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, folder := range filepath.SplitList(list) {
			if !filepath.IsAbs(folder) {
				folder = filepath.Join(dir, folder)
			}
			path := filepath.Join(folder, name)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("command %s is not on the PATH", name)
}
