// Package archive reads tar archives that somebody else may have made: a backup, a release, a source tree. It checks
// limits before it passes anything on, and it never writes: the caller decides what to do with a member.
package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
)

// Limits bound an archive by what its headers say.
type Limits struct {
	Bytes   int64 // of all members together: a header may claim a hole that tar fills with zeros
	Members int
}

// ErrTooLarge means that an archive exceeds its limits.
var ErrTooLarge = errors.New("the archive is too large")

// ErrBroken means that an archive cannot be read to its end.
var ErrBroken = errors.New("the archive is damaged")

// Each passes the members of a plain tar stream to take, in order. It skips what take leaves unread. An error from take
// ends the walk.
func Each(r io.Reader, limits Limits, take func(h *tar.Header, content io.Reader) error) error {
	archive := tar.NewReader(r)
	for left, n := limits.Bytes, 0; ; n++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrBroken, err)
		}
		if left -= h.Size; left < 0 || n >= limits.Members {
			return fmt.Errorf("%w: %d bytes in %d files", ErrTooLarge, limits.Bytes, limits.Members)
		}
		if err := take(h, archive); err != nil {
			return err
		}
	}
}
