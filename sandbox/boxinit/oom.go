package boxinit

import (
	"os"
	"strconv"
	"strings"
)

// oomKills returns how many processes of the container the kernel has killed so far because memory ran out; 0 if no
// counter can be read.
func oomKills() int64 {
	for _, path := range []string{
		"/sys/fs/cgroup/memory.events",             // cgroup v2
		"/sys/fs/cgroup/memory/memory.oom_control", // cgroup v1
	} {
		data, err := os.ReadFile(path)
		if err == nil {
			return parseOOM(string(data))
		}
	}
	return 0
}

func parseOOM(text string) int64 {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && key == "oom_kill" {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}
