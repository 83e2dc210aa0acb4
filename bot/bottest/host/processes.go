package host

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// parkedScore is the oom_score_adj of a parked process.
const parkedScore = "1000"

// Geminis lists the Gemini processes of a container that do a task or are parked, one "pid start-time processor-time"
// per line: the PID is the host's, the start time is field 22 of /proc/PID/stat, in clock ticks since boot. It reads
// the host's /proc, because a command in the container takes a tenth of a second.
func Geminis(containerID string, parked bool) (string, error) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return "", fmt.Errorf("list processes: %w", err)
	}
	found := processes{}
	for _, folder := range folders {
		read := func(name string) string {
			data, _ := os.ReadFile(filepath.Join(folder, name)) // it may have ended
			return string(data)
		}
		if !isGemini(read("comm")) || !strings.Contains(read("cgroup"), containerID) ||
			!strings.Contains(read("cmdline"), geminiFlag) {
			continue
		}
		if (strings.TrimSpace(read("oom_score_adj")) == parkedScore) != parked {
			continue
		}
		found.add(filepath.Base(folder), read("stat"))
	}
	return found.String(), nil
}

// GeminisInside is Geminis for a container with a kernel of its own, which the host cannot look into: the PIDs are the
// container's.
func GeminisInside(ctx context.Context, containerID string, parked bool) (string, error) {
	out, err := MustPodman(ctx, append([]string{"exec", containerID}, ListGeminis...)...)
	if err != nil {
		return "", err
	}
	return GeminisIn(out, parked), nil
}

// ListGeminis is the command that lists them inside.
var ListGeminis = []string{"sh", "-c", `cd /proc; for p in [0-9]*; do grep -qs -e ` + geminiFlag +
	` $p/cmdline && echo "$p $(cat $p/oom_score_adj) $(cat $p/comm)" && cat $p/stat; done; true`}

// GeminisIn is Geminis for what ListGeminis has printed.
func GeminisIn(out string, parked bool) string {
	found := processes{}
	pid, score, name := "", "", ""
	for line := range strings.Lines(out) {
		if strings.Contains(line, ") ") {
			if isGemini(name) && (score == parkedScore) == parked {
				found.add(pid, line)
			}
			continue
		}
		pid, name, _ = strings.Cut(line, " ")
		score, name, _ = strings.Cut(name, " ")
	}
	return found.String()
}

// geminiFlag is on the command line of each.
const geminiFlag = "--output-format=stream-json"

func isGemini(comm string) bool {
	return strings.HasPrefix(comm, "node") || strings.HasPrefix(comm, "gemini") || strings.HasPrefix(comm, "MainThread")
}

// processes are what is known of Gemini processes, by PID.
type processes map[string]process

type process struct{ parent, line string }

// add adds the process with that stat, unless it has ended.
func (p processes) add(pid, stat string) {
	_, rest, _ := strings.Cut(stat, ") ")
	if fields := strings.Fields(rest); len(fields) > 19 {
		p[pid] = process{fields[1], pid + " " + fields[19] + " " + fields[11] + "+" + fields[12]}
	}
}

// String is a line for each process but those that another one has forked: such a child looks like its parent until it
// has executed a program of its own.
func (p processes) String() string {
	var lines []string
	for _, pid := range slices.Sorted(maps.Keys(p)) {
		if _, forked := p[p[pid].parent]; !forked {
			lines = append(lines, p[pid].line)
		}
	}
	return strings.Join(lines, "\n")
}
