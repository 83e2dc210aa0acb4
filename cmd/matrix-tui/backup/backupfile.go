package backup

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
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
	sumsName = "SHA256SUMS" // the last member of a backup: "<hex>  <name>" a line
	maxSums  = 64 << 20     // bytes of it
	pieceMax = 8 << 20      // bytes of one member of a volume
	maxRatio = 1100         // gzip makes no more than so many bytes of one

	maxMembers = 1 << 20 // 8 TB of volumes
)

// packer writes the members of a backup and their checksums.
type packer struct {
	zip  *gzip.Writer
	tar  *tar.Writer
	sums strings.Builder
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
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(p.tar, sum), r, size); err != nil {
		return fmt.Errorf("back up %s: %w", name, err)
	}
	if name != sumsName {
		fmt.Fprintf(&p.sums, "%x  %s\n", sum.Sum(nil), name)
	}
	return nil
}

func (p *packer) close() error {
	text := p.sums.String()
	return errors.Join(p.add(sumsName, int64(len(text)), strings.NewReader(text)), p.tar.Close(), p.zip.Close())
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

// memberName matches the allowed names of members; nothing else is extracted.
var memberName = regexp.MustCompile(`^(manifest\.json|SHA256SUMS|state/((transcripts|memory)/)?[A-Za-z0-9._][A-Za-z0-9 ._@+-]{0,254}|volumes/sandbox-[A-Za-z0-9-]{1,120}/([0-9]{6,9}|end))$`)

// errDamaged means that a backup was changed or truncated.
var errDamaged = errors.New("the backup is damaged or incomplete; use another copy")

// eachMember passes the members of a backup to take, in order. What take does not read
// is skipped.
func eachMember(file string, take func(name string, size int64, r io.Reader) error) error {
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
		return take(h.Name, h.Size, content)
	})
	if errors.Is(err, archive.ErrBroken) || errors.Is(err, archive.ErrTooLarge) {
		return fmt.Errorf("read %s: %w (%w)", file, errDamaged, err)
	}
	return err
}

// checkSums reads a whole backup and verifies the checksum of every member. It returns
// the members' names.
func checkSums(file string) (names map[string]bool, err error) {
	got, said, last := map[string]string{}, "", ""
	err = eachMember(file, func(name string, _ int64, r io.Reader) error {
		last = name
		if name == sumsName {
			data, err := settings.ReadAtMost(r, maxSums)
			if err != nil {
				return fmt.Errorf("read %s: %w (%w)", name, errDamaged, err)
			}
			said = string(data)
			return nil
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, r); err != nil {
			return fmt.Errorf("read %s: %w (%w)", name, errDamaged, err)
		}
		if _, twice := got[name]; twice {
			return fmt.Errorf("%s occurs twice: %w", name, errDamaged)
		}
		got[name] = hex.EncodeToString(sum.Sum(nil))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if last != sumsName {
		return nil, errDamaged
	}
	names = map[string]bool{}
	for line := range strings.Lines(said) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if got[name] != sum || sum == "" || names[name] {
			return nil, fmt.Errorf("%s does not match its checksum: %w", clean.Short(name, 80), errDamaged)
		}
		names[name] = true
	}
	if len(names) != len(got) {
		return nil, fmt.Errorf("the backup contains files without a checksum: %w", errDamaged)
	}
	return names, nil
}
