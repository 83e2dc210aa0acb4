package media

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
)

// maxScans bounds the scans of a JPEG that is decoded. A progressive image sends its
// pixels in about ten; each costs as much as a whole image, and an empty one takes a
// few bytes.
const maxScans = 20

// jpegScans counts the scans of a JPEG, up to one more than max. What is no JPEG has
// none.
func jpegScans(data io.Reader, max int) (scans int) {
	r := bufio.NewReaderSize(data, 32<<10)
	for scans <= max {
		marker, ok := nextMarker(r)
		if !ok {
			return scans
		}
		switch {
		case marker == 0xD8, marker == 0x01, marker >= 0xD0 && marker <= 0xD7: // they stand alone
			continue
		case marker == 0xD9: // the end of the image
			return scans
		case marker == 0xDA:
			scans++
		}
		var length [2]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return scans
		}
		if n := int(binary.BigEndian.Uint16(length[:])) - 2; n > 0 {
			if _, err := r.Discard(n); err != nil {
				return scans
			}
		}
	}
	return scans
}

// nextMarker reads up to and including the next marker; the pixels between are passed.
func nextMarker(r *bufio.Reader) (marker byte, ok bool) {
	for {
		if _, err := r.ReadSlice(0xFF); errors.Is(err, bufio.ErrBufferFull) {
			continue
		} else if err != nil {
			return 0, false
		}
		b := byte(0xFF)
		for b == 0xFF { // any number of them may stand before the marker
			var err error
			if b, err = r.ReadByte(); err != nil {
				return 0, false
			}
		}
		if b != 0 { // 0xFF00 is a pixel value
			return b, true
		}
	}
}

// cancelable is a reader that fails when ctx ends.
type cancelable struct {
	io.Reader
	ctx context.Context
}

func (c cancelable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(p)
}
