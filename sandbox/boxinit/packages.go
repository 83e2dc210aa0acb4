package boxinit

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// What was installed in a pod is gone with it. Copies of the lists of Debian packages are on a volume, each below its
// own path in one of these folders: those of this pod and, until the bot has read them, those of the pod before.
const (
	packageLists = Dir + "/packages"
	ListsBefore  = Dir + "/packages-before"
)

// ReinstallRun is the ID of the run in which packages are installed again.
const ReinstallRun = "packages"

// Lists of Debian packages.
const (
	DpkgStatus = "/var/lib/dpkg/status"
	AptStates  = "/var/lib/apt/extended_states"
)

// MaxList bounds a list, in bytes. That of the sandbox image has 0.5 MB.
const MaxList = 16 << 20

// renew notes that this container of a pod is a new one, in which nothing is installed. Lists that the bot has not read
// stay.
func renew(s store, lists, before string) {
	if _, pod := os.LookupEnv(PodEnv); !pod {
		return
	}
	_ = os.RemoveAll(s.run(ReinstallRun))
	if _, err := os.Lstat(before); errors.Is(err, os.ErrNotExist) {
		_ = os.Rename(lists, before) // there are none in a room's first pod
	}
}

// keepLists copies the lists, in a pod, if they have changed. Without them, nothing is installed again: it is no error.
func keepLists(root, to string) {
	if _, pod := os.LookupEnv(PodEnv); !pod {
		return
	}
	for _, path := range []string{DpkgStatus, AptStates} {
		_ = keepList(root+path, to+path)
	}
}

func keepList(path, to string) error {
	f, info, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	kept, err := os.Stat(to)
	if err == nil && kept.ModTime().Equal(info.ModTime()) || info.Size() > MaxList {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := writeFile(to, io.LimitReader(f, info.Size()), info.Size(), 0o600, false); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
