package boxinit

import (
	"io"
	"os"
	"path/filepath"
)

// PackageLists is the folder with copies of the lists of Debian packages, each below its own path. What was installed
// in a pod is gone with it; the copies are on a volume, and say what that was.
const PackageLists = Dir + "/packages"

// Lists of Debian packages.
const (
	DpkgStatus = "/var/lib/dpkg/status"
	AptStates  = "/var/lib/apt/extended_states"
)

// MaxList bounds a list, in bytes. That of the sandbox image has 0.5 MB.
const MaxList = 16 << 20

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
