package boxinit

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Locked is in the error of an [Reply] if something in the container keeps a lock that is needed to start runs.
const Locked = "is locked by another process of the container"

// lockTime bounds the wait for a lock. Whoever starts or discards a run needs it for less, but every process of the
// container can take it, and keep it. Tests wait less.
var lockTime = 30 * time.Second

const lockPoll = 2 * time.Millisecond

// lockFile opens path and locks it until the file is closed, in whichever process.
func lockFile(path string, limit time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for begun := time.Now(); ; time.Sleep(lockPoll) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if errors.Is(err, unix.EWOULDBLOCK) && time.Since(begun) >= limit {
			err = fmt.Errorf("it %s, for more than %s", Locked, limit)
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// held reports whether a living process has locked the file.
func held(path string) bool {
	f, _, err := openRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
