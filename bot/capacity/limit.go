package capacity

import (
	"bytes"
	"context"
	"os"
	"strconv"

	"matrix-tui/sandbox"
)

const (
	fewest     = 8         // containers that may run on the smallest host
	memoryEach = 128 << 20 // of the host's memory, for one more
)

// limit returns how many containers may run.
func (k *Keeper) limit(ctx context.Context) int {
	k.sized.Do(func() {
		if k.Max > 0 {
			return
		}
		rootless, err := k.Podman.Rootless(ctx)
		k.Max = Default(err == nil && rootless)
		k.Log.Info().Int("containers", k.Max).Msg("limit on running containers, by the host's memory")
	})
	return k.Max
}

// runs reports whether a container runs or is about to, and is one of this bot's own, which are known by their rooms.
func runs(own map[string]string, info sandbox.Info) bool {
	return (info.State == "running" || info.State == sandbox.Starting) && own[info.Room] == info.Name
}

const (
	warmFrom = 1536 << 20 // bytes of a host's memory without which no agent is parked
	warmEach = 1 << 30    // for one
	warmMost = 8
)

// WarmAgents returns how many parked agents suit the host.
func WarmAgents() int { return warmFor(memInfo("MemTotal")) }

func warmFor(memory uint64) int {
	return min(int(max(memory, warmFrom)-warmFrom)/warmEach, warmMost)
}

// Free returns how much memory of the host is available, in bytes; 0 if that is unknown.
func Free() uint64 { return memInfo("MemAvailable") }

func memInfo(name string) uint64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	n, _ := MemInfo(data, name)
	return n
}

// MemInfo reads a line of /proc/meminfo, such as MemAvailable, in bytes.
func MemInfo(meminfo []byte, name string) (bytesOf uint64, ok bool) {
	for line := range bytes.Lines(meminfo) {
		fields := bytes.Fields(line)
		if len(fields) >= 2 && string(fields[0]) == name+":" {
			kb, err := strconv.ParseUint(string(fields[1]), 10, 50)
			return kb << 10, err == nil
		}
	}
	return 0, false
}

// Default returns how many containers may run on this host unless a setting says so.
func Default(rootless bool) int {
	memory := max(memInfo("MemTotal"), fewest*memoryEach)
	if !rootless {
		return defaultFor(memory, 0)
	}
	return defaultFor(memory, Keyrings())
}

// Keyrings returns how many kernel keyrings one user of this host may have, 0 if that is unknown. Each running
// container of a rootless user needs one.
func Keyrings() int {
	data, err := os.ReadFile("/proc/sys/kernel/keys/maxkeys")
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(data)))
	if err != nil {
		return 0
	}
	return n
}

func defaultFor(memory uint64, keyrings int) int {
	n := max(fewest, int(memory/memoryEach))
	if keyrings > 0 {
		n = max(fewest, min(n, MostFor(keyrings)))
	}
	return n
}

// MostFor returns how many containers may run with that many keyrings: some stay free for other programs of the user.
func MostFor(keyrings int) int { return keyrings - keyrings/10 }
