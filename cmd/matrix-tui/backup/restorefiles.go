package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"matrix-tui/state"
	"matrix-tui/state/transcripts"
)

// moveAside keeps the previous state in a folder named after the current time.
func (r *restore) moveAside(held []string) error {
	if len(held) == 0 {
		return nil
	}
	r.aside = filepath.Join(r.dir, "before-restore-"+time.Now().UTC().Format("20060102T150405Z"))
	if err := os.Mkdir(r.aside, 0o700); err != nil {
		return fmt.Errorf("move the existing state aside: %w", err)
	}
	for _, name := range held {
		if err := os.Rename(filepath.Join(r.dir, name), filepath.Join(r.aside, name)); err != nil {
			return fmt.Errorf("move the existing state aside: %w", err)
		}
	}
	return ownAs(r.aside, r.dir)
}

// moveIn moves everything from one folder to another; the login comes last. An existing
// .env stays: it was written for this host.
func moveIn(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("move the restored state into place: %w", err)
	}
	for _, login := range []bool{false, true} {
		for _, e := range entries {
			if (e.Name() == "account.json") != login {
				continue
			}
			if _, err := os.Lstat(filepath.Join(to, ".env")); e.Name() == ".env" && err == nil {
				continue
			}
			if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return fmt.Errorf("move the restored state into place: %w", err)
			}
		}
	}
	dir, err := os.Open(to)
	if err != nil {
		return fmt.Errorf("move the restored state into place: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// heldState returns the names in a folder that belong to a bot's state.
func heldState(dir string) (held []string, err error) {
	err = state.Walk(dir, func(name string, d fs.DirEntry) error {
		switch {
		case name == ".":
			return nil
		case name == transcripts.Folder && d.IsDir(), d.Type().IsRegular() && name != ".env" && isState(name, 0),
			strings.HasPrefix(name, "journal.db"), strings.HasPrefix(name, "crypto.db"):
			held = append(held, name)
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return held, err
}

// ownAs gives a file that root created to the owner of a folder.
func ownAs(path, folder string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	}
	return nil
}
