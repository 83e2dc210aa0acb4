package release

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"matrix-tui/state/archive"
	"matrix-tui/state/sentence"
)

// archiveName is the file that holds a release.
func archiveName(commit string) string { return "matrix-tui-" + commit + ".tar.gz" }

// latestFile contains the name of the newest archive in a folder.
const latestFile = "latest"

// Archive packs a release for hosts without a compiler: it writes the archive to into, its checksum and its bill of
// materials in files next to it, and `latest`, which names it. To sign it, sign the file with the checksum: `ssh-keygen
// -Y sign -n matrix-tui-release -f KEY FILE.sha256`. It returns the path of the archive.
func (b Base) Archive(commit, into string) (string, error) {
	if err := b.Check(commit); err != nil {
		return "", err
	}
	name := archiveName(commit)
	path := filepath.Join(into, name)
	err := pack(b.Dir(commit), path)
	parts, partsErr := os.ReadFile(filepath.Join(b.Dir(commit), sbomFile))
	if err == nil && partsErr == nil { // a release of an early version has none
		err = renameio.WriteFile(strings.TrimSuffix(path, ".tar.gz")+".cdx.json", parts, 0o644)
	}
	sum := ""
	if err == nil {
		sum, err = sumOf(path)
	}
	if err == nil {
		err = renameio.WriteFile(path+".sha256", []byte(sum+"  "+name+"\n"), 0o644)
	}
	if err == nil {
		err = renameio.WriteFile(filepath.Join(into, latestFile), []byte(name+"\n"), 0o644)
	}
	if err != nil {
		return "", fmt.Errorf("pack release %s: %w", commit, err)
	}
	return path, nil
}

// pack writes a folder's files as a tar.gz, completely or not at all.
func pack(dir, path string) (err error) {
	out, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Cleanup()) }()
	zipped := gzip.NewWriter(out)
	packed := tar.NewWriter(zipped)
	if err := errors.Join(packed.AddFS(os.DirFS(dir)), packed.Close(), zipped.Close()); err != nil {
		return err
	}
	return out.CloseAtomicallyReplace()
}

// unpackRelease unpacks an archive and checks that it contains a complete release.
func unpackRelease(packed, into, commit string) error {
	f, err := os.Open(packed)
	if err != nil {
		return fmt.Errorf("open archive: %w", err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err == nil {
		err = untar(plain, into)
	}
	if err == nil {
		err = checkSums(into)
	}
	var info Info
	if err == nil {
		info, err = readInfo(into)
	}
	if err == nil && Short(info.Commit) != commit {
		err = fmt.Errorf("it contains release %s", Short(info.Commit))
	}
	if err != nil {
		return sentence.Newf(fmt.Errorf("unpack release %s: %w", commit, err), "The archive of release %s is incomplete: rejected.", commit)
	}
	return nil
}

// unpacked limits the contents of an archive.
var unpacked = archive.Limits{Bytes: 1 << 30, Members: 100_000}

// untar unpacks an archive into dir: only folders and regular files. Nothing is written outside dir, whatever the names
// in the archive.
func untar(r io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	defer root.Close()
	return archive.Each(r, unpacked, func(h *tar.Header, content io.Reader) error {
		name := filepath.Clean(filepath.FromSlash(h.Name))
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			return nil
		case tar.TypeDir:
			return root.MkdirAll(name, 0o755)
		case tar.TypeReg:
		default:
			return fmt.Errorf("unpack: %s is neither a file nor a folder", h.Name)
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644|fs.FileMode(h.Mode)&0o111)
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close())
	})
}
