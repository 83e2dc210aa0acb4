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
)

// archiveName is the file that holds a release.
func archiveName(commit string) string { return "matrix-tui-" + commit + ".tar.gz" }

// latestFile contains the name of the newest archive in a folder.
const latestFile = "latest"

// Archive packs a release for hosts without a compiler: it writes the archive to into, its checksum and its bill of
// materials in files next to it, and `latest`, which names it. To sign it, sign the file with the checksum: `ssh-keygen -Y sign -n
// matrix-tui-release -f KEY FILE.sha256`. It returns the path of the archive.
func (b Base) Archive(commit, into string) (string, error) {
	if err := b.Check(commit); err != nil {
		return "", err
	}
	path := filepath.Join(into, archiveName(commit))
	if err := pack(b.Dir(commit), path); err != nil {
		return "", fmt.Errorf("pack release %s: %w", commit, err)
	}
	parts, err := os.ReadFile(filepath.Join(b.Dir(commit), sbomFile))
	if err == nil {
		err = renameio.WriteFile(strings.TrimSuffix(path, ".tar.gz")+".cdx.json", parts, 0o644)
	}
	if errors.Is(err, fs.ErrNotExist) { // built by an older release
		err = nil
	}
	var sum string
	if err == nil {
		sum, err = sumOf(path)
	}
	if err == nil {
		err = renameio.WriteFile(path+".sha256", fmt.Appendf(nil, "%s  %s\n", sum, filepath.Base(path)), 0o644)
	}
	if err == nil {
		err = renameio.WriteFile(filepath.Join(into, latestFile), []byte(filepath.Base(path)+"\n"), 0o644)
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
	archive := tar.NewWriter(zipped)
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return packFile(archive, file, name)
	})
	if err := errors.Join(err, archive.Close(), zipped.Close()); err != nil {
		return err
	}
	return out.CloseAtomicallyReplace()
}

func packFile(archive *tar.Writer, file, name string) error {
	from, err := os.Open(file)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}
	if err := archive.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(archive, from)
	return err
}
