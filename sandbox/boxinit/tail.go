package boxinit

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// tailPoll is how often a file is checked if inotify is not available.
	tailPoll = 20 * time.Millisecond
	// tailLook is how often a follower checks whether the supervisor is alive.
	tailLook = 250 * time.Millisecond
)

var errGone = errors.New("the caller is gone")

// tail copies the run's stdout from offset on until the run has ended, and returns its status. It gives up if gone is
// closed.
func (s store) tail(id string, offset int64, to io.Writer, gone <-chan struct{}) (RunStatus, error) {
	changes := newChanges(s.run(id))
	defer changes.close()
	status, err := s.status(id)
	if err != nil || status.State == RunNone {
		return status, err
	}
	out, err := os.Open(s.file(id, "out"))
	if err != nil {
		return status, err
	}
	defer out.Close()
	if _, err := out.Seek(offset, io.SeekStart); err != nil {
		return status, err
	}
	return follow(s, id, out, to, changes, gone)
}

// follow copies until the run has ended and everything before that has been copied.
func follow(s store, id string, out io.Reader, to io.Writer, changes *changes,
	gone <-chan struct{}) (RunStatus, error) {
	looked := time.Time{}
	for {
		ended := sizeOf(s.file(id, "end.json")) >= 0
		if ended || time.Since(looked) >= tailLook {
			looked = time.Now()
			status, err := s.status(id)
			if err != nil {
				return status, err
			}
			if status.State != RunRunning {
				_, err := io.Copy(to, out)
				return status, err
			}
		}
		if _, err := io.Copy(to, out); err != nil {
			return RunStatus{}, err
		}
		select {
		case <-gone:
			return RunStatus{}, errGone
		default:
			changes.wait(tailLook)
		}
	}
}

// changes waits for a change in a folder.
type changes struct{ fd int }

func newChanges(dir string) *changes {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return &changes{-1}
	}
	if _, err := unix.InotifyAddWatch(fd, dir,
		unix.IN_MODIFY|unix.IN_MOVED_TO|unix.IN_MOVED_FROM|unix.IN_DELETE); err != nil {
		unix.Close(fd)
		return &changes{-1}
	}
	return &changes{fd}
}

// wait returns soon after a change, and after limit at the latest.
func (c *changes) wait(limit time.Duration) {
	if c.fd < 0 {
		time.Sleep(min(tailPoll, limit))
		return
	}
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, int(limit.Milliseconds())+1)
	var events [4096]byte
	for {
		if n, err := unix.Read(c.fd, events[:]); err != nil || n <= 0 {
			return
		}
	}
}

func (c *changes) close() {
	if c.fd >= 0 {
		unix.Close(c.fd)
	}
}
