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
	"matrix-tui/state/damage"
	"matrix-tui/state/sentence"
)

// transcripts is the folder of the files that only grow.
const transcripts = "transcripts"

// memory is the folder of what the rooms remember. A damaged file in it stops no update.
const memory = "memory"

// copyState copies the state folder to a folder, which it creates, and syncs every file. While a bot uses it (live),
// SQLite copies the databases as last committed; otherwise they are copied like other files. The target may contain
// earlier copies of transcripts, which only grow: those with the same size and time are left alone.
func copyState(ctx context.Context, from, to string, live bool) error {
	if err := roomFor(from, filepath.Dir(to)); err != nil {
		return err
	}
	err := state.Walk(from, func(name string, d fs.DirEntry) error {
		src, dst := filepath.Join(from, name), filepath.Join(to, name)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir():
			return os.MkdirAll(dst, 0o700)
		case !d.Type().IsRegular():
			return nil
		case live && state.IsDatabase(name):
			err := replaceDatabase(ctx, src, dst)
			if damage.Is(err) && filepath.Dir(name) == memory {
				return nil // the bot builds it again
			}
			return err
		case live && state.IsSidecar(name):
			return nil
		}
		return copyFile(src, dst, filepath.Dir(name) == transcripts)
	})
	if err != nil {
		return fmt.Errorf("copy state to %s: %w", to, err)
	}
	return syncTree(to)
}

// copyTranscripts copies only the transcripts, while a bot may add to them; copyState later copies those that have
// grown.
func copyTranscripts(from, to string) error {
	if err := roomFor(from, to); err != nil {
		return err
	}
	err := os.MkdirAll(filepath.Join(to, transcripts), 0o700)
	entries, readErr := os.ReadDir(filepath.Join(from, transcripts))
	if errors.Is(readErr, fs.ErrNotExist) {
		return nil
	}
	err = errors.Join(err, readErr)
	for _, e := range entries {
		if err == nil && e.Type().IsRegular() {
			err = copyFile(filepath.Join(from, transcripts, e.Name()), filepath.Join(to, transcripts, e.Name()), true)
		}
	}
	if err != nil {
		return fmt.Errorf("copy transcripts: %w", err)
	}
	return nil
}

// replaceDatabase copies the committed content of a database that is in use.
func replaceDatabase(ctx context.Context, src, dst string) error {
	if err := os.Remove(dst); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return state.Snapshot(ctx, src, dst)
}

// copyFile copies a file with its mode and time.
func copyFile(src, dst string, known bool) error {
	from, err := os.Open(src)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if have, err := os.Stat(dst); known && err == nil && have.Size() == info.Size() && have.ModTime().Equal(info.ModTime()) {
		return nil
	}
	to, err := os.OpenFile(dst, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	return os.Chtimes(dst, info.ModTime(), info.ModTime())
}

// roomFor checks that the disk of a folder has room for another copy of the state.
func roomFor(dir, where string) error {
	var need uint64
	err := state.Walk(dir, func(_ string, d fs.DirEntry) error {
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			need += uint64(info.Size())
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("measure state: %w", err)
	}
	if err := os.MkdirAll(where, 0o700); err != nil {
		return fmt.Errorf("create folder for a copy of the state: %w", err)
	}
	var space unix.Statfs_t
	if err := unix.Statfs(where, &space); err != nil {
		return fmt.Errorf("measure free space: %w", err)
	}
	if free := space.Bavail * uint64(space.Bsize); free < need+need/8 {
		return sentence.Newf(unix.ENOSPC, "There is no room for a copy of the state: it needs %d MiB, but only %d MiB are free under %s.", need>>20+1, free>>20, where)
	}
	return nil
}

// restoreState makes the state folder equal to its copy. It can be interrupted and repeated. Nobody else may use the
// folder meanwhile.
func restoreState(from, to string) error {
	var there []string
	err := state.Walk(to, func(name string, d fs.DirEntry) error {
		if !d.IsDir() {
			there = append(there, name)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("restore state: %w", err)
	}
	for _, name := range there { // first what SQLite would replay into an older database
		if _, err := os.Lstat(filepath.Join(from, name)); state.IsSidecar(name) || errors.Is(err, fs.ErrNotExist) {
			if err := os.Remove(filepath.Join(to, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("restore state: %w", err)
			}
		}
	}
	err = state.Walk(from, func(name string, d fs.DirEntry) error {
		src, dst := filepath.Join(from, name), filepath.Join(to, name)
		if d.IsDir() {
			return os.MkdirAll(dst, 0o700)
		}
		part := filepath.Join(filepath.Dir(dst), ".restore")
		if err := copyFile(src, part, false); err != nil {
			return err
		}
		if err := syncDir(part); err != nil {
			return err
		}
		return os.Rename(part, dst)
	})
	if err != nil {
		return fmt.Errorf("restore state: %w", err)
	}
	return syncTreeOf(to)
}

// syncTreeOf syncs the state's folders.
func syncTreeOf(dir string) error {
	return state.Walk(dir, func(name string, d fs.DirEntry) error {
		if d.IsDir() {
			return syncDir(filepath.Join(dir, name))
		}
		return nil
	})
}
