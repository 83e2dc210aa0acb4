package sandbox

import (
	"fmt"
	"os"
	"time"

	"github.com/containers/podman/v5/libpod/define"
	"golang.org/x/sys/unix"
)

// lostDoor reports whether the gateway directory on the host was replaced since the
// container was started: the container still sees the old one and cannot reach the new
// socket. If the host does not let us look, it reports false.
func (s placed) lostDoor(data *define.InspectContainerData) bool {
	switch {
	case s.gateway == "":
		return false
	case s.Runtime == GVisor: // the host cannot look into the container
		return bornAfter(s.gateway, data.State.StartedAt)
	}
	inside, err := os.Stat(fmt.Sprintf("/proc/%d/root%s", data.State.Pid, gatewayMount))
	if err != nil {
		return false
	}
	outside, err := os.Stat(s.gateway)
	return err != nil || !os.SameFile(inside, outside)
}

// bornAfter reports whether a directory is missing or was created after a time. One that was created in the future,
// because the host's clock was wrong, says nothing.
func bornAfter(dir string, when time.Time) bool {
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_BTIME, &stat); err != nil {
		return os.IsNotExist(err)
	}
	born := time.Unix(stat.Btime.Sec, int64(stat.Btime.Nsec))
	return stat.Mask&unix.STATX_BTIME != 0 && born.After(when) && born.Before(time.Now())
}
