package backup

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state/archive"
	"matrix-tui/state/clean"
)

const (
	manifestName = "manifest.json" // the first member of a backup
	pieceMax     = 8 << 20         // bytes of one member of a volume
	maxRatio     = 1100            // gzip makes no more than so many bytes of one
	maxMembers   = 1 << 20         // 8 TB of volumes
)

// packer writes the members of a backup. gzip adds a checksum of all.
type packer struct {
	zip *gzip.Writer
	tar *tar.Writer
}

func newPacker(w io.Writer) *packer {
	zip, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // a level that there is
	return &packer{zip: zip, tar: tar.NewWriter(zip)}
}

// add writes a member of exactly size bytes from r; bytes after that were added later
// and are left out.
func (p *packer) add(name string, size int64, r io.Reader) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: size,
		ModTime: time.Now().Truncate(time.Second), Format: tar.FormatPAX}
	if err := p.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("back up %s: %w", name, err)
	}
	if _, err := io.CopyN(p.tar, r, size); err != nil {
		return fmt.Errorf("back up %s: %w", name, err)
	}
	return nil
}

// pieces writes a stream of unknown length as members of a folder.
type pieces struct {
	to     *packer
	folder string
	buf    []byte
	n      int
	broken error // of the backup itself
}

// Write takes all of data; an error is one of the backup.
func (p *pieces) Write(data []byte) (int, error) {
	written := len(data)
	for len(data) > 0 && p.broken == nil {
		if p.buf == nil {
			p.buf = make([]byte, 0, pieceMax)
		}
		n := min(len(data), pieceMax-len(p.buf))
		p.buf, data = append(p.buf, data[:n]...), data[n:]
		if len(p.buf) == pieceMax {
			_ = p.flush() // kept in broken
		}
	}
	return written, p.broken
}

func (p *pieces) flush() error {
	if len(p.buf) > 0 && p.broken == nil {
		p.n++
		p.broken = p.to.add(fmt.Sprintf("%s%06d", p.folder, p.n), int64(len(p.buf)), strings.NewReader(string(p.buf)))
		p.buf = p.buf[:0]
	}
	return p.broken
}

// memberName matches the allowed names of members; nothing else is extracted. Format 1 has a list of checksums.
var memberName = regexp.MustCompile(`^(manifest\.json|SHA256SUMS|state/((transcripts|memory)/)?[A-Za-z0-9._][A-Za-z0-9 ._@+-]{0,254}|volumes/sandbox-[A-Za-z0-9-]{1,120}/([0-9]{6,9}|end))$`)

// errDamaged means that a backup was changed or truncated.
var errDamaged = errors.New("the backup is damaged or incomplete; use another copy")

// eachMember passes the members of a backup to take, in order. What take does not read
// is skipped.
func eachMember(file string, take func(name string, r io.Reader) error) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("open backup: %w", err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s is not a matrix-tui backup (%w)", file, err)
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("inspect the backup: %w", err)
	}
	limits := archive.Limits{Bytes: info.Size()*maxRatio + maxExtra, Members: maxMembers}
	err = archive.Each(zip, limits, func(h *tar.Header, content io.Reader) error {
		if h.Typeflag != tar.TypeReg || !memberName.MatchString(h.Name) || strings.HasSuffix(h.Name, "/..") ||
			strings.HasSuffix(h.Name, "/.") {
			return fmt.Errorf("%s contains %q, which does not belong in a matrix-tui backup", file, clean.Short(h.Name, 80))
		}
		return take(h.Name, content)
	})
	broken := errors.Is(err, archive.ErrBroken) || errors.Is(err, archive.ErrTooLarge)
	if err == nil { // to gzip's checksum
		_, err = io.Copy(io.Discard, zip)
		broken = err != nil
	}
	if broken {
		return fmt.Errorf("read %s: %w (%w)", file, errDamaged, err)
	}
	return err
}

// survey reads a whole backup. It returns the manifest and the names of the members.
func survey(file string) (m manifest, names map[string]bool, err error) {
	names = map[string]bool{}
	err = eachMember(file, func(name string, r io.Reader) error {
		if names[name] {
			return fmt.Errorf("%s occurs twice: %w", clean.Short(name, 80), errDamaged)
		}
		names[name] = true
		if name != manifestName {
			return nil
		}
		data, err := settings.ReadAtMost(r, maxExtra)
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil {
			return fmt.Errorf("read the backup's manifest: %w", err)
		}
		return nil
	})
	switch {
	case err != nil:
		return m, nil, err
	case m.Format == 0:
		return m, nil, errDamaged
	case m.Format > backupFormat:
		return m, nil, fmt.Errorf("the backup was made by a newer matrix-tui (%s): restore it with that version",
			clean.Short(m.Version, 80))
	}
	return m, names, nil
}
