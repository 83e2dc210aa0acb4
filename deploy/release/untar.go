package release

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"matrix-tui/state/archive"
)

// unpacked limits the contents of an archive.
var unpacked = archive.Limits{Bytes: 1 << 30, Members: 100_000}

// untar unpacks an archive into dir, which it creates: only folders and regular files. Nothing is written outside dir,
// whatever the names in the archive.
func untar(r io.Reader, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	defer root.Close()
	err = archive.Each(r, unpacked, func(h *tar.Header, content io.Reader) error { return unpack(root, h, content) })
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	return nil
}

func unpack(root *os.Root, h *tar.Header, content io.Reader) error {
	name := filepath.Clean(filepath.FromSlash(h.Name))
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeReg:
	default:
		return fmt.Errorf("%s is neither a file nor a folder", h.Name)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if h.Mode&0o100 != 0 {
		mode = 0o755
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
