package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"matrix-tui/state"
	"matrix-tui/state/sentence"
	"matrix-tui/state/transcripts"
)

// copyState makes a folder equal to a state folder, durably; it can be interrupted and repeated. While a bot uses the
// state (live), SQLite copies the databases as last committed, and memory.db, which the bot can build again, is left
// out. A transcript only grows: one with the same size and time is not copied again. Nobody else may use the target.
func copyState(ctx context.Context, from, to string, live bool) error {
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
			case !d.Type().IsRegular(), live && (state.IsSidecar(name) || name == "memory.db"):
				return nil
			case live && state.IsDatabase(name):
				if err := removeIfThere(dst); err != nil {
					return err
				}
				return state.Snapshot(ctx, src, dst)
			}
			return copyFile(src, dst, filepath.Dir(name) == transcripts.Folder)
		})
	}
	if err == nil {
		err = syncTree(to)
	}
	if err != nil {
		return fmt.Errorf("copy state to %s: %w", to, err)
	}
	return nil
}

// copyFile copies a file with its mode and time. If it only grows, one with the same size and time is left alone.
func copyFile(src, dst string, grows bool) error {
	from, err := os.Open(src)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if have, err := os.Stat(dst); grows && err == nil && have.Size() == info.Size() &&
		have.ModTime().Equal(info.ModTime()) {
		return nil
	}
	part := filepath.Join(filepath.Dir(dst), ".copying") // the old file may be read-only
	if err := removeIfThere(part); err != nil {
		return err
	}
	to, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close(), os.Chtimes(part, info.ModTime(), info.ModTime())); err != nil {
		return err
	}
	return os.Rename(part, dst)
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

// syncTree syncs a folder with everything in it.
func syncTree(dir string) error {
	return state.Walk(dir, func(name string, d fs.DirEntry) error {
		if d.IsDir() || d.Type().IsRegular() {
			return syncDir(filepath.Join(dir, name))
		}
		return nil
	})
}

// syncDir makes changes of a folder's entries, or of a file, durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
