package boxinit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Limits of what is looked at for Facts.
const (
	maxNames    = 20_000
	maxContents = 8 << 20 // bytes, of all files together
)

var errTooMuch = errors.New("too many files")

// printing is the work on a print.
type printing struct {
	hash   hash.Hash
	names  int      // left
	bytes  int64    // left
	linked []string // folders that links lead to, which have been looked at
}

// print returns a digest of what counts, and of today's date. It fails if that is too much to look at.
func (f Facts) print() (string, error) {
	p := &printing{hash: sha256.New(), names: maxNames, bytes: maxContents}
	fmt.Fprintln(p.hash, time.Now().Format(time.DateOnly))
	if f.Tree != "" {
		if err := p.walk(f.Tree, f.Skip, p.time); err != nil {
			return "", err
		}
	}
	for _, path := range f.Files {
		if err := p.walk(path, nil, p.all); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(p.hash.Sum(nil)), nil
}

// walk adds the names of everything below path, and calls file for what is no folder. It does not follow links.
func (p *printing) walk(path string, skip []string, file func(path string, e fs.DirEntry) error) error {
	return filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if p.names--; p.names < 0 {
			return errTooMuch
		}
		if err != nil {
			fmt.Fprintf(p.hash, "%q missing\n", path)
			return nil
		}
		fmt.Fprintf(p.hash, "%q %s\n", path, e.Type())
		if e.Type() == fs.ModeSymlink {
			target, _ := os.Readlink(path)
			fmt.Fprintf(p.hash, "to %q\n", target)
		}
		if e.IsDir() {
			if slices.Contains(skip, e.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		return file(path, e)
	})
}

// time adds size and time of a file, or of what a link leads to.
func (p *printing) time(path string, _ fs.DirEntry) error {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		fmt.Fprintf(p.hash, "%d %d\n", info.Size(), info.ModTime().UnixNano())
	}
	return nil
}

// all adds what a file contains, and everything in the folder that it leads to.
func (p *printing) all(path string, e fs.DirEntry) error {
	if e.Type() == fs.ModeSymlink {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return p.folder(path)
		}
	}
	return p.content(path)
}

// folder adds everything in a folder that a link leads to.
func (p *printing) folder(link string) error {
	path, err := filepath.EvalSymlinks(link)
	if err != nil {
		fmt.Fprintf(p.hash, "%q missing\n", link)
		return nil
	}
	if slices.Contains(p.linked, path) {
		return nil
	}
	p.linked = append(p.linked, path)
	return p.walk(path, nil, p.all)
}

// content adds what a file contains, if it is a regular one.
func (p *printing) content(path string) error {
	file, _, err := openRegular(path)
	if err != nil {
		fmt.Fprintln(p.hash, "unreadable")
		return nil
	}
	defer file.Close()
	n, err := io.Copy(p.hash, io.LimitReader(file, p.bytes+1))
	if p.bytes -= n; p.bytes < 0 {
		return errTooMuch
	}
	fmt.Fprintf(p.hash, "%d bytes\n", n)
	return err
}
