package boxinit

import (
	"os"
	"strconv"
	"strings"
)

// oomKills returns how many processes of the container the kernel has killed for want
// of memory so far; 0 where no counter can be read.
func oomKills() int64 {
	for _, path := range []string{
		"/sys/fs/cgroup/memory.events",             // version 2
		"/sys/fs/cgroup/memory/memory.oom_control", // version 1
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
