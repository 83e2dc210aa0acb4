package state

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"matrix-tui/state/disk"
	"matrix-tui/state/sentence"
)

// DirLock locks a state directory for one process. It ends with Close, or with the process, however that ends.
type DirLock struct{ file *os.File }

// Lock locks dir (created with mode 0700 if missing) for this process. While another process has it, the error is
// ErrLocked with a sentence that names that process. Whoever writes in dir must hold the lock.
func Lock(dir string) (*DirLock, error) {
	if err := disk.MakeDir(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, disk.Explain(fmt.Errorf("open lock: %w", err), path)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, heldBy(file, dir)
		}
		return nil, disk.Explain(fmt.Errorf("lock %s: %w", path, err), path)
	}
	// The process ID is only for the next process's sentence: if a full disk prevents writing it, that does not matter.
	if file.Truncate(0) == nil {
		_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return &DirLock{file}, nil
}

// InUse reports whether a process holds the lock of dir now. It creates nothing.
func InUse(dir string) bool {
	file, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return false
	}
	defer file.Close() // releases the shared lock
	return errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// Close releases the directory. The file stays: removing it would let two processes hold locks on two files of the same
// name.
func (l *DirLock) Close() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("close lock: %w", err)
	}
	return nil
}

func heldBy(file *os.File, dir string) error {
	owner := "another process"
	text, _ := io.ReadAll(io.LimitReader(file, 32))
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		owner = "process " + strconv.Itoa(pid)
	}
	return sentence.Newf(fmt.Errorf("lock %s, held by %s: %w", dir, owner, ErrLocked),
		"A bot already runs on %s (%s): stop it first (in a cluster, with MAINTENANCE=true), or set STATE_DIR to another "+
			"folder.", dir, owner)
}
