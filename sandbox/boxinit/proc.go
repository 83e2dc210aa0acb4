package boxinit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// conceal keeps other processes of the container, which have the same user ID and capabilities, out of the memory of
// this one: they could change what it does. What it starts is not concealed.
func conceal() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// process is one line of /proc.
type process struct {
	pid, parent, session int
	ticks                uint64 // start, in clock ticks since boot
	used                 uint64 // CPU time, in clock ticks
	pages                int64  // in memory
	dead                 bool   // a zombie that waits to be reaped
	stopped              bool   // by SIGSTOP or a debugger
}

// processes returns all processes of the container, without those that end while it reads.
func processes() ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var list []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := processOf(pid); err == nil {
			list = append(list, p)
		}
	}
	return list, nil
}

func processOf(pid int) (process, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return process{}, err
	}
	return parseStat(string(data))
}

// parseStat parses a line of /proc/PID/stat (proc_pid_stat(5)). The name in it can contain anything, including spaces
// and parentheses.
func parseStat(line string) (process, error) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return process{}, fmt.Errorf("stat line %q: no name", line)
	}
	fields := strings.Fields(line[end+1:])
	if len(fields) < 22 {
		return process{}, fmt.Errorf("stat line %q: %d fields", line, len(fields))
	}
	var p process
	var threads int
	var user, system uint64
	var errs [8]error
	p.pid, errs[0] = strconv.Atoi(strings.TrimSpace(line[:open]))
	p.parent, errs[1] = strconv.Atoi(fields[1])
	p.session, errs[2] = strconv.Atoi(fields[3])
	threads, errs[3] = strconv.Atoi(fields[17])
	p.ticks, errs[4] = strconv.ParseUint(fields[19], 10, 64)
	user, errs[5] = strconv.ParseUint(fields[11], 10, 64)
	system, errs[6] = strconv.ParseUint(fields[12], 10, 64)
	p.pages, errs[7] = strconv.ParseInt(fields[21], 10, 64)
	p.used = user + system
	for _, err := range errs {
		if err != nil {
			return process{}, fmt.Errorf("stat line %q: %w", line, err)
		}
	}
	// A thread group leader that has ended is shown as a zombie while its threads continue.
	p.dead = fields[0] == "X" || fields[0] == "Z" && threads <= 1
	p.stopped = fields[0] == "T" || fields[0] == "t"
	return p, nil
}

// markOf returns the ID of the run that a process is marked with, or "".
func markOf(pid int) string { return variableOf(pid, RunVariable) }

// variableOf returns a variable of the environment that a process was started with, or "".
func variableOf(pid int, name string) string {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return ""
	}
	for kv := range bytes.SplitSeq(data, []byte{0}) {
		if value, ok := bytes.CutPrefix(kv, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// belonging returns the living processes that a run started: the descendants of its supervisor; if the supervisor is
// gone, every process with the run's mark or in the session of such a process. No process older than the supervisor
// belongs to the run. Without a mark, as in a record that was damaged, no process has it.
func belonging(all []process, sup supervisorRecord, id string, mark func(pid int) string) []process {
	children := make(map[int][]process)
	sessions := make(map[int]bool)
	found := make(map[int]bool)
	var queue []int
	add := func(p process) {
		if p.pid != sup.PID && p.pid != 1 && !found[p.pid] {
			found[p.pid] = true
			queue = append(queue, p.pid)
		}
	}
	alive := false
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
		if p.pid == sup.PID && p.ticks == sup.Ticks {
			alive = true
			queue = append(queue, p.pid)
		}
	}
	if !alive {
		for _, p := range all {
			if id != "" && p.ticks >= sup.Ticks && mark(p.pid) == id {
				add(p)
				sessions[p.session] = p.session != 0
			}
		}
		for _, p := range all {
			if sessions[p.session] && p.ticks >= sup.Ticks {
				add(p)
			}
		}
	}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		for _, child := range children[pid] {
			add(child)
		}
	}
	var list []process
	for _, p := range all {
		if found[p.pid] && !p.dead {
			list = append(list, p)
		}
	}
	return list
}
