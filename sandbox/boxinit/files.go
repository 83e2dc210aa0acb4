package boxinit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// errNotRegular wraps os.ErrNotExist: a reader treats it as no file.
var errNotRegular = fmt.Errorf("not a regular file: %w", os.ErrNotExist)

// volumes are where what is in the way of a file outlives the container, so that it has
// to be moved.
var volumes = []string{"/root/", "/workspace/"}

// writeFile replaces the file at path atomically: a reader sees the old file or the new one. A symbolic link at path is
// replaced, not followed.
func writeFile(path string, data io.Reader, size int64, mode fs.FileMode, onlyNew bool) error {
	if onlyNew {
		if _, err := os.Lstat(path); err == nil {
			return nil
		}
	}
	if mode = mode.Perm(); mode == 0 {
		mode = 0o644
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".boxinit-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	n, err := io.Copy(tmp, data)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if n != size {
		return fmt.Errorf("write %s: %d of %d bytes arrived", path, n, size)
	}
	if err := tmp.Chmod(mode); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if !onlyNew {
		return os.Rename(tmp.Name(), path)
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// makeWay moves aside what keeps a run's file from being written: a directory at its
// path, or something else than a directory above it. The first thing that is in the way
// hides the others.
func makeWay(path string) {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		aside(path)
		return
	}
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		_, err := os.Lstat(dir)
		if info, followed := os.Stat(dir); err == nil && (followed != nil || !info.IsDir()) {
			aside(dir)
			return
		}
	}
}

// aside renames what is at path in a volume, in place of what was put aside there before.
// Where that fails, writing the file does too, and says why.
func aside(path string) {
	inVolume := func(volume string) bool { return strings.HasPrefix(path, volume) }
	if slices.ContainsFunc(volumes, inVolume) && os.RemoveAll(path+".old") == nil {
		_ = os.Rename(path, path+".old")
	}
}

// send copies the first max bytes of a regular file.
func send(to io.Writer, path string, max int64) error {
	f, _, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, io.LimitReader(f, max))
	return err
}
