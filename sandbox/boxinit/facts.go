package boxinit

import (
	"bytes"
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
	hash    hash.Hash
	names   int   // left
	bytes   int64 // left
	seek    string
	imports bool // a file contains seek
	sources []string
	linked  []string // folders that links lead to, which have been looked at
}

// print returns a digest of what counts, and of today's date. It fails if that is too much to look at.
func (f Facts) print() (string, error) {
	p := &printing{hash: sha256.New(), names: maxNames, bytes: maxContents, seek: f.Imports, sources: f.Sources}
	fmt.Fprintln(p.hash, time.Now().Format(time.DateOnly))
	if f.Tree != "" {
		err := p.walk(f.Tree, f.Skip, func(path string, e fs.DirEntry) error {
			if !slices.Contains(f.Contents, e.Name()) {
				return nil
			}
			_, err := p.content(path)
			return err
		})
		if err == nil && p.imports {
			err = p.times(f.Tree)
		}
		if err != nil {
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

// all adds what a file contains, and everything in the folder that it leads to.
func (p *printing) all(path string, e fs.DirEntry) error {
	if e.Type() == fs.ModeSymlink {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return p.folder(path)
		}
	}
	data, err := p.content(path)
	if err == nil && slices.Contains(p.sources, e.Name()) && bytes.Contains(data, []byte(`"link"`)) {
		err = fmt.Errorf("%s may lead to another folder", path)
	}
	return err
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

// content adds what a file contains, and returns it, if it is a regular one.
func (p *printing) content(path string) ([]byte, error) {
	file, _, err := openRegular(path)
	if err != nil {
		fmt.Fprintln(p.hash, "unreadable")
		return nil, nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, p.bytes+1))
	if p.bytes -= int64(len(data)); p.bytes < 0 {
		return nil, errTooMuch
	}
	if err != nil {
		return nil, err
	}
	p.imports = p.imports || p.seek != "" && bytes.Contains(data, []byte(p.seek))
	fmt.Fprintf(p.hash, "%d bytes\n", len(data))
	p.hash.Write(data)
	return data, nil
}

// times adds size and time of every file below path.
func (p *printing) times(path string) error {
	return filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if p.names--; p.names < 0 {
			return errTooMuch
		}
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(p.hash, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
}
