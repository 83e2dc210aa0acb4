package boxinit

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of what is listed of a folder.
const (
	maxEntries = 1000
	maxName    = 255 // bytes
	maxRead    = 20_000
)

// Entry is a file or a folder.
type Entry struct {
	// Name is as on the disk: it need not be UTF-8.
	Name []byte
	// Folder and File say what it is, or what a link leads to; a socket is neither, and so is what a link leads to outside
	// of the workspace.
	Folder   bool  `json:",omitempty"`
	File     bool  `json:",omitempty"`
	Link     bool  `json:",omitempty"`
	Size     int64 `json:",omitempty"` // bytes
	Modified time.Time
}

// Found is what is at a path of the workspace, with the entries of a folder: folders first, each by name.
type Found struct {
	Entry
	Entries few[Entry] `json:",omitempty"`
	More    bool       `json:",omitempty"` // there are more entries
}

func entryOf(name string, info fs.FileInfo) Entry {
	return Entry{Name: []byte(name), Folder: info.IsDir(), File: info.Mode().IsRegular(), Size: info.Size(),
		Modified: info.ModTime()}
}

// within returns a path below a root, without links. An [os.Root] follows no link that leads out of it, but gVisor of
// September 2026 does if the link is to a folder: O_DIRECTORY undoes O_NOFOLLOW.
func within(root *os.Root, name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", fs.ErrNotExist
	}
	at, err := filepath.EvalSymlinks(filepath.Join(root.Name(), name))
	if err != nil {
		return "", err
	}
	if at, err = filepath.Rel(root.Name(), at); err != nil || !filepath.IsLocal(at) {
		return "", fs.ErrNotExist
	}
	return at, nil
}

// find returns what is at a path below a root. No link leads out of that.
func find(root *os.Root, name string) (found Found, err error) {
	at, err := within(root, name)
	if err != nil {
		return found, err
	}
	info, err := root.Stat(at)
	if err != nil {
		return found, err
	}
	if found.Entry = entryOf(path.Base(name), info); !found.Folder {
		return found, nil
	}
	dir, err := root.OpenFile(at, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return found, err
	}
	defer dir.Close()
	list, err := dir.ReadDir(maxRead)
	if err != nil && !errors.Is(err, io.EOF) {
		return found, err
	}
	for _, one := range list {
		info, err := one.Info()
		if err != nil {
			continue // it has just been removed
		}
		entry := entryOf(one.Name(), info)
		if entry.Link = info.Mode()&fs.ModeSymlink != 0; entry.Link {
			if to, err := within(root, path.Join(at, one.Name())); err == nil {
				if info, err := root.Stat(to); err == nil {
					entry = entryOf(one.Name(), info)
					entry.Link = true
				}
			}
		}
		found.Entries = append(found.Entries, entry)
	}
	slices.SortFunc(found.Entries, func(a, b Entry) int {
		if a.Folder != b.Folder {
			return map[bool]int{true: -1, false: 1}[a.Folder]
		}
		return bytes.Compare(a.Name, b.Name)
	})
	found.More = len(list) == maxRead
	return found.bounded(), nil
}

// bounded returns what was found with nothing longer than boxinit makes it, and without names that cannot be.
func (f Found) bounded() Found {
	f.Entries = slices.DeleteFunc(f.Entries, func(e Entry) bool {
		return len(e.Name) == 0 || len(e.Name) > maxName || bytes.ContainsAny(e.Name, "/\x00") ||
			string(e.Name) == "." || string(e.Name) == ".." || e.Size < 0
	})
	f.More = f.More || len(f.Entries) > maxEntries
	f.Entries = f.Entries[:min(len(f.Entries), maxEntries)]
	f.Name = f.Name[:min(len(f.Name), maxName)]
	return f
}

// download sends the first max bytes of a regular file below a root.
func download(root *os.Root, name string, max int64, to io.Writer) error {
	at, err := within(root, name)
	if err != nil {
		return err
	}
	f, _, err := regular(root.OpenFile(at, os.O_RDONLY|unix.O_NONBLOCK, 0))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, io.LimitReader(f, max))
	return err
}

// upload writes a new file into a folder below a root. Whoever reads it sees all of it or nothing. What is there
// already stays: the error is os.ErrExist.
func upload(root *os.Root, name string, data io.Reader) error {
	at, err := within(root, cmp.Or(path.Dir(name), "."))
	if err != nil {
		return err
	}
	dir, err := root.OpenRoot(at)
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, err := dir.Lstat(path.Base(name)); err == nil {
		return os.ErrExist
	}
	temporary := ".boxinit-" + rand.Text()
	f, err := dir.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Remove(temporary) }()
	_, err = io.Copy(f, data)
	if err := cmp.Or(err, f.Close()); err != nil {
		return err
	}
	return dir.Link(temporary, path.Base(name))
}

// browse carries out an operation in the workspace.
func (o *operation) browse(workspace string) Reply {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return replyOf(Reply{}, err)
	}
	defer root.Close()
	name := cmp.Or(string(o.Name), ".")
	switch o.Op {
	case OpLook:
		found, err := find(root, name)
		return missing(replyOf(Reply{Found: &found}, err))
	case OpDownload:
		err = download(root, name, o.Size, o.frames.Stream(FrameStdout))
	default:
		if err = upload(root, name, o.input()); errors.Is(err, os.ErrExist) {
			return Reply{Present: path.Base(name)}
		}
	}
	return missing(replyOf(Reply{}, err))
}

// missing says that nothing is at a path that leads out of the workspace, or through a file.
func missing(r Reply) Reply {
	for _, why := range []string{"escapes from parent", "not a directory"} {
		r.Missing = r.Missing || strings.Contains(r.Error, why)
	}
	return r
}
