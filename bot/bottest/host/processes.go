package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Geminis lists the Gemini processes of a container, one "pid start-time" per line: the PID is the host's, the start time
// is field 22 of /proc/PID/stat, in clock ticks since boot. It reads the host's /proc, because a command in the container
// takes a tenth of a second.
func Geminis(containerID string) (string, error) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return "", fmt.Errorf("list processes: %w", err)
	}
	var found []string
	for _, folder := range folders {
		read := func(name string) string {
			data, _ := os.ReadFile(filepath.Join(folder, name)) // it may have ended
			return string(data)
		}
		if name := read("comm"); !strings.HasPrefix(name, "node") && !strings.HasPrefix(name, "gemini") && !strings.HasPrefix(name, "MainThread") {
			continue
		}
		if !strings.Contains(read("cgroup"), containerID) || !strings.Contains(read("cmdline"), "--prompt") {
			continue
		}
		_, rest, _ := strings.Cut(read("stat"), ") ")
		if fields := strings.Fields(rest); len(fields) > 19 {
			found = append(found, filepath.Base(folder)+" "+fields[19])
		}
	}
	return strings.Join(found, "\n"), nil
}
