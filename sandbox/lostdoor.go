package sandbox

import (
	"os"
	"time"

	"github.com/containers/podman/v5/libpod/define"
	"golang.org/x/sys/unix"
)

// tick is the longest time by which the clock of file systems lags behind the one that containers are started with: one
// tick of a kernel with CONFIG_HZ=100.
const tick = 10 * time.Millisecond

// lostDoor reports whether the gateway directory on the host was replaced since the container was started: the
// container still sees the old one and cannot reach the new socket.
func (s placed) lostDoor(data *define.InspectContainerData) bool {
	return s.gateway != "" && bornAfter(s.gateway, data.State.StartedAt)
}

// bornAfter reports whether a directory is missing or was created after a time, to the precision of a tick. One that
// was created in the future, because the host's clock was wrong, says nothing.
func bornAfter(dir string, when time.Time) bool {
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_BTIME, &stat); err != nil {
		return os.IsNotExist(err)
	}
	born := time.Unix(stat.Btime.Sec, int64(stat.Btime.Nsec))
	return stat.Mask&unix.STATX_BTIME != 0 && born.After(when.Add(-tick)) && born.Before(time.Now())
}
