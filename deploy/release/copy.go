package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// copyState makes a folder equal to a state folder, durably; it can be interrupted and repeated. Nobody else may use
// the two folders.
func copyState(ctx context.Context, from, to string) error {
	_, err := os.Stat(from) // a missing one would empty the target
	if err == nil {
		err = os.MkdirAll(to, 0o700)
	}
	if err == nil { // first what SQLite would replay into another database
		err = state.Walk(to, func(name string, d fs.DirEntry) error {
			_, err := os.Lstat(filepath.Join(from, name))
			if d.IsDir() || !state.IsSidecar(name) && !errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return os.Remove(filepath.Join(to, name))
		})
	}
	if err == nil {
		err = state.Walk(from, func(name string, d fs.DirEntry) error {
			src, dst := filepath.Join(from, name), filepath.Join(to, name)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case d.IsDir():
				return os.MkdirAll(dst, 0o700)
			case d.Type().IsRegular():
				return copyFile(src, dst)
			}
			return nil
		})
	}
	if err == nil {
		err = state.Walk(to, func(name string, d fs.DirEntry) error {
			if d.IsDir() {
				return syncDir(filepath.Join(to, name))
			}
			return nil
		})
	}
	if err == nil {
		err = syncDir(filepath.Dir(to))
	}
	if err != nil {
		return fmt.Errorf("copy state to %s: %w", to, err)
	}
	return nil
}

// copyFile copies a file with its mode and time. The old one may be read-only, or be executed.
func copyFile(src, dst string) error {
	from, err := os.Open(src)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	to, err := renameio.NewPendingFile(dst, renameio.WithTempDir(filepath.Dir(dst)),
		renameio.WithStaticPermissions(info.Mode().Perm()))
	if err != nil {
		return err
	}
	defer to.Cleanup()
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	if err := os.Chtimes(to.Name(), info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	return to.CloseAtomicallyReplace()
}

// sizeOf returns the size of a folder's files.
func sizeOf(dir string) (size int64, err error) {
	err = state.Walk(dir, func(_ string, d fs.DirEntry) error {
		info, err := d.Info()
		if err == nil && d.Type().IsRegular() {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// roomFor checks that the disk of a folder has room for another copy of the state.
func roomFor(dir, where string) error {
	need, err := sizeOf(dir)
	var space unix.Statfs_t
	if err := errors.Join(err, unix.Statfs(where, &space)); err != nil {
		return fmt.Errorf("look for room for a copy of the state: %w", err)
	}
	if free := int64(space.Bavail) * space.Bsize; free < need+need/8 {
		return sentence.Newf(unix.ENOSPC,
			"There is no room for a copy of the state: it needs %d MiB, but only %d MiB are free under %s.",
			need>>20+1, free>>20, where)
	}
	return nil
}

// syncDir makes changes of a folder's entries, or of a file, durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
