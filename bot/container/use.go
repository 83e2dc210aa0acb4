package container

import (
	"context"
	"strconv"
	"strings"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state/clean"
)

const (
	useTime  = 20 * time.Second // bounds one measurement
	useEvery = time.Minute      // between two, for the page
)

// Use is what a room's container uses, and has. The container says so itself.
type Use struct {
	Memory, Disk int64     // bytes; 0 if unknown
	Agent        string    // its version, or ""
	At           time.Time // of the measurement; zero before the first
}

// useScript prints the container's memory and disk usage in bytes, and the agent's version. It supports cgroups v1 and
// v2, and a container with a kernel of its own ($1 is its runtime), and gives up on a large tree after five seconds.
const useScript = `if [ "$1" ]; then awk '$1 == "MemTotal:" {t = $2} $1 == "MemAvailable:" {print (t - $2) * 1024}' /proc/meminfo
else cat /sys/fs/cgroup/memory.current 2>/dev/null || cat /sys/fs/cgroup/memory/memory.usage_in_bytes 2>/dev/null || echo -
fi
timeout 5 du -sk /workspace /root 2>/dev/null | awk '{s+=$1} END {print s*1024}'
sed -n 's/^  "version": "\(.*\)",*$/\1/p' /opt/gemini/lib/node_modules/@google/gemini-cli/package.json 2>/dev/null`

// Measure asks the room's container, which runs, what it uses.
func (s *Sandbox) Measure(ctx context.Context, container *sandbox.Container) (Use, error) {
	res, err := container.Exec(ctx, sandbox.Cmd{Argv: []string{"sh", "-c", useScript, "sh", s.shared.Runtime},
		MaxOutput: 4 << 10})
	if err != nil {
		return Use{}, err
	}
	fields := append(strings.Fields(string(res.Stdout)), "", "", "")
	use := Use{Agent: clean.Short(fields[2], 40), At: time.Now()}
	use.Memory, _ = strconv.ParseInt(fields[0], 10, 64)
	use.Disk, _ = strconv.ParseInt(fields[1], 10, 64)
	return use, nil
}

// Used returns what the room's container uses, as far as that is known. If that is old, and the container runs, it is
// measured again until ctx ends, and Used waits for that, but not for long. It starts no container.
func (s *Sandbox) Used(ctx context.Context, wait time.Duration) Use {
	s.mu.Lock()
	use, due := s.use, !s.measuring && time.Since(s.looked) > useEvery
	s.measuring = s.measuring || due
	s.mu.Unlock()
	if !due {
		return use
	}
	done := make(chan struct{})
	s.shared.Group.Start(func() {
		defer close(done)
		defer func() { // also after a panic
			s.mu.Lock()
			defer s.mu.Unlock()
			s.use, s.looked, s.measuring = use, time.Now(), false
		}()
		use = lookAt(ctx, s, use)
	})
	select {
	case <-done:
	case <-time.After(wait):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.use
}

// lookAt returns what a room's container uses now or, if it does not answer, what it used before.
func lookAt(ctx context.Context, s *Sandbox, before Use) Use {
	ctx, cancel := context.WithTimeout(ctx, useTime)
	defer cancel()
	container := s.shared.Podman.Answering(ctx, s.room)
	if container == nil {
		return before
	}
	now, err := s.Measure(ctx, container)
	if err != nil {
		s.shared.Log.Debug().Err(err).Str("room", s.room).Msg("cannot measure a container")
		return before
	}
	return now
}
