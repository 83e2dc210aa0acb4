package boxinit

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ReaderVariable marks a process that only reads what a background process prints. It is not listed as left.
const ReaderVariable = "MATRIX_TUI_READER"

// Bounds of what is listed and looked at.
const (
	maxLeft      = 20
	maxLeftPorts = 8
	maxLeftText  = 200     // bytes of a command
	maxSockets   = 1 << 20 // bytes of a list of sockets
	maxOpenFiles = 4096    // of a process
)

// leftRuns returns the runs that have ended but whose supervisor lives, because processes that they started do.
func (s store) leftRuns() []string {
	entries, _ := os.ReadDir(s.runs())
	var ids []string
	for _, e := range entries {
		if sizeOf(s.file(e.Name(), "end.json")) >= 0 && held(s.file(e.Name(), "lock")) {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

// left returns the processes that ended runs have left: those that listen on a port, and the oldest of each other
// session, oldest first.
func (s store) left() ([]Left, error) {
	runs := s.leftRuns()
	if len(runs) == 0 {
		return nil, nil
	}
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var found []process
	for _, id := range runs {
		var sup supervisorRecord
		if readJSON(s.file(id, "supervisor.json"), &sup) == nil {
			found = append(found, belonging(all, sup, sup.Mark, markOf)...)
		}
	}
	found = slices.DeleteFunc(found, func(p process) bool { return variableOf(p.pid, ReaderVariable) != "" })
	slices.SortStableFunc(found, func(a, b process) int { return cmp.Compare(a.ticks, b.ticks) })
	sockets, boot := listening("/proc/net"), booted()
	return chooseLeft(found, func(p process) Left {
		return Left{PID: p.pid, Command: commandOf(p.pid), Ports: portsOf(p.pid, sockets),
			Since: boot.Add(time.Duration(p.ticks) * time.Second / userHz)}
	}), nil
}

// userHz is the number of clock ticks in a second of /proc.
const userHz = 100

// chooseLeft picks what is listed from processes that are sorted by age. A port is listed once: the workers of a server
// have it from their parent.
func chooseLeft(found []process, look func(process) Left) []Left {
	all := make([]Left, len(found))
	ports, sessions, chosen := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for i, p := range found {
		all[i] = look(p)
		all[i].Ports = slices.DeleteFunc(all[i].Ports, func(port int) bool { return ports[port] })
		for _, port := range all[i].Ports {
			ports[port], sessions[p.session], chosen[i] = true, true, true
		}
	}
	var list []Left
	for i, p := range found {
		if chosen[i] || !sessions[p.session] {
			sessions[p.session] = true
			list = append(list, all[i].bounded())
		}
	}
	return list[:min(len(list), maxLeft)]
}

// booted returns when the machine was started, by the clock of now.
func booted() time.Time {
	data, _ := os.ReadFile("/proc/uptime")
	first, _, _ := strings.Cut(string(data), " ")
	seconds, _ := strconv.ParseFloat(first, 64)
	return time.Now().Add(-time.Duration(seconds * float64(time.Second)))
}

// commandOf returns a process's command line.
func commandOf(pid int) string {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return ""
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, 4*maxLeftText))
	return string(bytes.ReplaceAll(bytes.TrimRight(data, "\x00"), []byte{0}, []byte{' '}))
}

// listening returns the TCP ports of sockets that listen, by the name that they have among a process's descriptors.
func listening(dir string) map[string]int {
	ports := map[string]int{}
	for _, name := range []string{"tcp", "tcp6"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		data, _ := io.ReadAll(io.LimitReader(f, maxSockets))
		f.Close()
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != "0A" {
				continue
			}
			_, hex, _ := strings.Cut(fields[1], ":")
			if port, err := strconv.ParseUint(hex, 16, 16); err == nil {
				ports["socket:["+fields[9]+"]"] = int(port)
			}
		}
	}
	return ports
}

// portsOf returns the ports on which a process listens, in order.
func portsOf(pid int, sockets map[string]int) (ports []int) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	f, err := os.Open(dir)
	if err != nil || len(sockets) == 0 {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxOpenFiles)
	for _, name := range names {
		if target, err := os.Readlink(filepath.Join(dir, name)); err == nil {
			if port, ok := sockets[target]; ok {
				ports = append(ports, port)
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// bounded returns what is listed of a process, with nothing longer than boxinit makes it.
func (l Left) bounded() Left {
	l.Command = strings.Join(strings.Fields(strings.ToValidUTF8(l.Command[:min(len(l.Command), 4*maxLeftText)], "\uFFFD")),
		" ")
	if len(l.Command) > maxLeftText {
		l.Command = strings.ToValidUTF8(l.Command[:maxLeftText-len("…")], "") + "…"
	}
	l.Ports = l.Ports[:min(len(l.Ports), maxLeftPorts)]
	return l
}

// BoundedLeft returns a list with nothing longer than boxinit makes it, and without ports that cannot be: a process of
// the container may have written it.
func BoundedLeft(list []Left) []Left {
	list = slices.Clone(list[:min(len(list), maxLeft)])
	for i, l := range list {
		l.Ports = slices.DeleteFunc(l.Ports, func(port int) bool { return port < 1 || port > math.MaxUint16 })
		list[i] = l.bounded()
	}
	return list
}

// endLeft ends everything that ended runs have left.
func (s store) endLeft() error {
	for _, id := range s.leftRuns() {
		if err := stop(s, id); err != nil {
			return err
		}
	}
	return nil
}
