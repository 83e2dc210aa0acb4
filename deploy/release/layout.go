package release

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

// Base is the folder that contains the releases.
type Base string

// kept is how many releases, and copies of the state, are kept.
const kept = 3

// commitName is a release's name: the first 12 digits of its commit.
var commitName = regexp.MustCompile(`^[0-9a-f]{12}$`)

// Short returns the name of a commit's release.
func Short(commit string) string { return commit[:min(len(commit), 12)] }

// Of returns the base and the commit of the release that a program belongs to, from the path of its file; ok is false
// if it is not in a release.
func Of(program string) (base Base, commit string, ok bool) {
	dir := filepath.Dir(program)
	releases := filepath.Dir(dir)
	commit = filepath.Base(dir)
	if filepath.Base(releases) != "releases" || !commitName.MatchString(commit) {
		return "", "", false
	}
	return Base(filepath.Dir(releases)), commit, true
}

// Dir returns the folder of a release, whether it exists or not.
func (b Base) Dir(commit string) string { return filepath.Join(string(b), "releases", commit) }

// Program returns the release's executable.
func (b Base) Program(commit string) string { return filepath.Join(b.Dir(commit), "matrix-tui") }

func (b Base) path(parts ...string) string {
	return filepath.Join(append([]string{string(b)}, parts...)...)
}

// Current returns the commit that `current` points to; "" for none.
func (b Base) Current() string { return b.linked("current") }

func (b Base) linked(name string) string {
	to, err := os.Readlink(b.path(name))
	if err != nil || !commitName.MatchString(filepath.Base(to)) {
		return ""
	}
	return filepath.Base(to)
}

// Use atomically makes a complete release the current one.
func (b Base) Use(commit string) error {
	if err := b.Check(commit); err != nil {
		return err
	}
	if b.linked("good") == "" {
		if err := b.link("good", commit); err != nil {
			return err
		}
	}
	return b.link("current", commit)
}

// link points one of the two names to a release that was already checked.
func (b Base) link(name, commit string) error {
	if err := renameio.Symlink(filepath.Join("releases", commit), b.path(name)); err != nil {
		return full(fmt.Errorf("point %s to release %s: %w", name, commit, err), b)
	}
	return syncDir(string(b))
}

// prune removes what is no longer needed: releases and copies of the state beyond the newest three, except those in
// use, and unfinished ones.
func (b Base) prune(hold ...string) error {
	hold = append(hold, b.Current(), b.linked("good"))
	var errs []error
	for _, folder := range []string{"releases", "state-before"} {
		entries, err := os.ReadDir(b.path(folder))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look for old releases: %w", err)
		}
		var whole []fs.FileInfo
		for _, e := range entries {
			info, err := e.Info()
			switch {
			case err != nil:
			case commitName.MatchString(e.Name()):
				whole = append(whole, info)
			case strings.HasPrefix(e.Name(), "."):
				errs = append(errs, os.RemoveAll(b.path(folder, e.Name())))
			}
		}
		slices.SortFunc(whole, func(x, y fs.FileInfo) int { return y.ModTime().Compare(x.ModTime()) })
		for i, info := range whole {
			if i >= kept && !slices.Contains(hold, info.Name()) {
				errs = append(errs, os.RemoveAll(b.path(folder, info.Name())))
			}
		}
	}
	return errors.Join(errs...)
}

// syncDir makes changes of a folder's entries durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
