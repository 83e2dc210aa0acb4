// Package release keeps the program's releases side by side in one directory,
// and replaces the running one with a newer one:
//
//	BASE/releases/<commit>/   one release: its sources, matrix-tui, boxinit, release.json, SHA256SUMS
//	BASE/current              link to the release in use, replaced by rename
//	BASE/state-before/<c>/    the state as it was before release <c> first touched it
//	BASE/state-failed/<c>/    what a release wrote before it was rolled back
//	BASE/cache/               mirror of the source, and the Go compiler's cache
//	BASE/update.json          how far the current update is, or how the last one ended
//
// Every step is recorded in update.json before it starts, so that whichever
// process starts next knows what to do with what it finds: see [Base.AtStart]. A
// release appears under its name only when it is complete.
//
// The package works on files and runs programs (git, go, ssh-keygen, the
// releases themselves). It knows nothing about Matrix or podman, and opens a
// database only to copy it.
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
	"syscall"

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
	if filepath.Base(releases) != "releases" || !commitName.MatchString(filepath.Base(dir)) {
		return "", "", false
	}
	return Base(filepath.Dir(releases)), filepath.Base(dir), true
}

// Dir returns the folder of a release, whether it exists or not.
func (b Base) Dir(commit string) string { return b.path("releases", commit) }

// Program returns the release's executable.
func (b Base) Program(commit string) string { return filepath.Join(b.Dir(commit), "matrix-tui") }

func (b Base) path(parts ...string) string {
	return filepath.Join(append([]string{string(b)}, parts...)...)
}

// Current returns the commit that `current` points to; "" for none.
func (b Base) Current() string {
	to, err := os.Readlink(b.path("current"))
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
	if err := renameio.Symlink(filepath.Join("releases", commit), b.path("current")); err != nil {
		return full(fmt.Errorf("point current to release %s: %w", commit, err), b)
	}
	return syncDir(string(b))
}

// prune removes what is no longer needed: releases and copies of the state beyond the newest three, except those in
// use, and unfinished ones.
func (b Base) prune(hold ...string) error {
	hold = append(hold, b.Current())
	var errs []error
	for _, folder := range []string{"releases", "state-before"} {
		entries, err := os.ReadDir(b.path(folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("look for old releases: %w", err))
		}
		var whole []fs.FileInfo
		for _, e := range entries {
			if info, err := e.Info(); err == nil && commitName.MatchString(e.Name()) {
				whole = append(whole, info)
			} else if strings.HasPrefix(e.Name(), ".") {
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

// Exec replaces this process with a program; the process ID stays the same.
func Exec(program string, args []string) error {
	return syscall.Exec(program, append([]string{program}, args...), os.Environ())
}
