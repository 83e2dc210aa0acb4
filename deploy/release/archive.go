package release

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"matrix-tui/state/archive"
	"matrix-tui/state/sentence"
)

// archiveName is the file that holds a release.
func archiveName(commit string) string { return "matrix-tui-" + commit + ".tar.gz" }

// latestFile contains the name of the newest archive in a folder.
const latestFile = "latest"

// Archive packs a release for hosts without a compiler: it writes the archive to into, its checksum and its bill of
// materials in files next to it, and at the end `latest`, which names it. To sign it, sign the file with the checksum:
// `ssh-keygen -Y sign -n matrix-tui-release -f KEY FILE.sha256`. It returns the path of the archive. The commit "" is
// the current one.
func (b Base) Archive(ctx context.Context, commit, into string) (string, error) {
	commit = cmp.Or(commit, b.Current())
	if err := b.Check(commit); err != nil {
		return "", err
	}
	const script = `tar -C "$1" --owner=0 --group=0 -czf "$2" . && sha256sum "$2" >"$2.sha256" &&
		{ ! [ -e "$1/` + sbomFile + `" ] || cp "$1/` + sbomFile + `" "${2%.tar.gz}.cdx.json"; } && echo "$2" >` + latestFile
	_, err := program{dir: into, limit: archiveTime}.run(ctx, "sh", "-c", script, "sh", b.Dir(commit), archiveName(commit))
	if err != nil {
		return "", fmt.Errorf("pack release %s: %w", commit, err)
	}
	return filepath.Join(into, archiveName(commit)), nil
}

const archiveTime = 5 * time.Minute

// unpackRelease unpacks an archive and checks that it contains a complete release.
func unpackRelease(packed []byte, into, commit string) error {
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		err = untar(plain, into)
	}
	if err == nil {
		err = checkSums(into)
	}
	if err == nil {
		_, err = readInfo(into, commit)
	}
	if err != nil {
		return sentence.Newf(fmt.Errorf("unpack: %w", err), "The archive of release %s is incomplete: rejected.", commit)
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
		return err
	}
	defer root.Close()
	return archive.Each(r, unpacked, func(h *tar.Header, content io.Reader) error {
		name := filepath.Clean(h.Name)
		switch h.Typeflag {
		case tar.TypeXGlobalHeader, tar.TypeDir:
			return nil
		case tar.TypeReg:
		default:
			return fmt.Errorf("%s is neither a file nor a folder", h.Name)
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644|fs.FileMode(h.Mode)&0o111)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close())
	})
}
