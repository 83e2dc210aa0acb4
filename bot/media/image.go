package media

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/draw"
	_ "image/gif" // for the size of a GIF
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"sync"

	"matrix-tui/bot/matrix"
)

// Thumb is a thumbnail of an image.
type Thumb struct {
	Data          []byte
	Type          string // image/jpeg, or image/png if it has transparency
	Width, Height int    // pixels
}

const (
	thumbWidth, thumbHeight = 800, 600
	// maxPixels bounds the images that are decoded: a 4K screen. A small file can contain a huge image.
	maxPixels = 3840 * 2160
	// maxSide bounds the plausible width and height of an image.
	maxSide = 65535
	// maxThumb bounds a thumbnail, in bytes.
	maxThumb = 1 << 20
)

// dimensions reads an image's size from its header; 0, 0 if it is not an image or the size is absurd.
func dimensions(data io.ReaderAt, kind string) (width, height int) {
	if !slices.Contains(matrix.Shown, kind) {
		return 0, 0
	}
	if kind == "image/webp" {
		width, height = webp(data)
	} else if config, _, err := image.DecodeConfig(io.NewSectionReader(data, 0, 1<<62)); err == nil {
		width, height = config.Width, config.Height
	}
	if width < 1 || height < 1 || width > maxSide || height > maxSide {
		return 0, 0
	}
	return width, height
}

// webp reads the size from the first chunk of a WebP file
// (https://developers.google.com/speed/webp/docs/riff_container).
func webp(data io.ReaderAt) (width, height int) {
	var b [30]byte
	if _, err := data.ReadAt(b[:], 0); err != nil {
		return 0, 0
	}
	little := binary.LittleEndian
	switch string(b[12:16]) {
	case "VP8X":
		return 1 + int(little.Uint32(b[24:])&0xffffff), 1 + int(little.Uint32(b[26:])>>8)
	case "VP8L":
		bits := little.Uint32(b[21:])
		return 1 + int(bits&0x3fff), 1 + int(bits>>14&0x3fff)
	case "VP8 ":
		return int(little.Uint16(b[26:]) & 0x3fff), int(little.Uint16(b[28:]) & 0x3fff)
	}
	return 0, 0
}

// animated reports from the first bytes of an image whether it moves; nil if they do not say.
func animated(head []byte, kind string) *bool {
	moves := false
	switch kind {
	case "image/png": // a chunk of its own comes before the pixels (https://www.w3.org/TR/png-3/#acTL-chunk)
		before, _, found := bytes.Cut(head, []byte("IDAT"))
		if moves = bytes.Contains(before, []byte("acTL")); !moves && !found {
			return nil
		}
	case "image/webp":
		if len(head) <= 20 {
			return nil
		}
		moves = string(head[12:16]) == "VP8X" && head[20]&2 != 0
	default:
		return nil
	}
	return &moves
}

// decoding is locked while an image is decoded, which takes up to 100 MB.
var decoding sync.Mutex

// scalable reports whether an image may have a thumbnail.
func scalable(kind string, width, height int) bool {
	return (kind == "image/png" || kind == "image/jpeg") && width > 0 && width*height <= maxPixels
}

// thumbnail makes a thumbnail of a PNG or JPEG image; nil if that is impossible, would
// take too much memory or time, or ctx ends.
func thumbnail(ctx context.Context, data io.ReaderAt, kind string, width, height int) *Thumb {
	if !scalable(kind, width, height) {
		return nil
	}
	whole := cancelable{io.NewSectionReader(data, 0, 1<<62), ctx}
	if kind == "image/jpeg" && jpegScans(whole, maxScans) > maxScans {
		return nil
	}
	decoding.Lock()
	defer decoding.Unlock()
	full, _, err := image.Decode(cancelable{io.NewSectionReader(data, 0, 1<<62), ctx})
	if err != nil || full.Bounds().Dx() != width || full.Bounds().Dy() != height {
		return nil
	}
	return encode(shrink(full, thumbWidth, thumbHeight))
}

// encode writes a thumbnail.
func encode(small *image.RGBA) *Thumb {
	thumb := &Thumb{Type: "image/jpeg", Width: small.Rect.Dx(), Height: small.Rect.Dy()}
	var out bytes.Buffer
	var err error
	if small.Opaque() {
		err = jpeg.Encode(&out, small, &jpeg.Options{Quality: 80})
	} else {
		thumb.Type = "image/png"
		err = png.Encode(&out, small)
	}
	if err != nil || out.Len() > maxThumb {
		return nil
	}
	thumb.Data = out.Bytes()
	return thumb
}

// fit scales a size down to at most maxWidth by maxHeight, and never up.
func fit(width, height, maxWidth, maxHeight int) (int, int) {
	if width > maxWidth {
		width, height = maxWidth, max(1, height*maxWidth/width)
	}
	if height > maxHeight {
		width, height = max(1, width*maxHeight/height), maxHeight
	}
	return width, height
}

// shrink averages the pixels that each new pixel covers. It converts a few rows at a time.
func shrink(full image.Image, maxWidth, maxHeight int) *image.RGBA {
	from := full.Bounds()
	width, height := fit(from.Dx(), from.Dy(), maxWidth, maxHeight)
	small := image.NewRGBA(image.Rect(0, 0, width, height))
	strip := image.NewRGBA(image.Rect(0, 0, from.Dx(), from.Dy()/height+2))
	for y := range height {
		top, bottom := y*from.Dy()/height, (y+1)*from.Dy()/height
		rows := bottom - top
		draw.Draw(strip, image.Rect(0, 0, from.Dx(), rows), full, image.Pt(from.Min.X, from.Min.Y+top), draw.Src)
		for x := range width {
			left, right := x*from.Dx()/width, (x+1)*from.Dx()/width
			var sum [4]int
			for row := range rows {
				line := strip.Pix[row*strip.Stride:]
				for i := left * 4; i < right*4; i += 4 {
					sum[0] += int(line[i])
					sum[1] += int(line[i+1])
					sum[2] += int(line[i+2])
					sum[3] += int(line[i+3])
				}
			}
			pixels := rows * (right - left)
			for c := range sum {
				small.Pix[small.PixOffset(x, y)+c] = uint8((sum[c] + pixels/2) / pixels)
			}
		}
	}
	return small
}
