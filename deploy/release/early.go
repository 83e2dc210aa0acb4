package release

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// Early copies what a new release says before it is ready to where a rollback finds it. Descriptor 2 becomes that file,
// because the runtime writes the first lines of a fatal error nowhere else; the rest of it also goes to the real stderr.
// Whatever the process itself writes goes through Write, to both.
type Early struct {
	mu   sync.Mutex
	file *os.File // nil after Close
	real *os.File // the stderr that the process was started with
}

// Capture begins the copy. Each start replaces the one of the start before.
func (b Base) Capture() (*Early, error) {
	file, err := os.OpenFile(b.logFile(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of the start: %w", err)
	}
	fd, err := unix.FcntlInt(uintptr(unix.Stderr), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("duplicate stderr: %w", err), file.Close())
	}
	e := &Early{file: file, real: os.NewFile(uintptr(fd), "stderr")}
	err = unix.Dup3(int(file.Fd()), unix.Stderr, 0)
	if err == nil {
		err = debug.SetCrashOutput(e.real, debug.CrashOptions{})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("redirect stderr: %w", err), e.Close())
	}
	return e, nil
}

// Write writes to the real stderr and, until Close, to the copy.
func (e *Early) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.file != nil {
		_, _ = e.file.Write(p) // it only serves to find the cause of a failure
	}
	return e.real.Write(p)
}

// Close ends the copy and restores descriptor 2. Write continues to work.
func (e *Early) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.file == nil {
		return nil
	}
	err := errors.Join(unix.Dup3(int(e.real.Fd()), unix.Stderr, 0), debug.SetCrashOutput(nil, debug.CrashOptions{}), e.file.Close())
	e.file = nil
	return err
}
