package media

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func encoded(t testing.TB, kind string, img image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	var err error
	switch kind {
	case "image/png":
		err = png.Encode(&out, img)
	case "image/jpeg":
		err = jpeg.Encode(&out, img, nil)
	case "image/gif":
		err = gif.Encode(&out, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// halves is an image that is red on the left, and of the given colour on the right.
func halves(width, height int, right color.Color) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			if x < width/2 {
				img.Set(x, y, color.NRGBA{255, 0, 0, 255})
			} else {
				img.Set(x, y, right)
			}
		}
	}
	return img
}

func TestThumbnail(t *testing.T) {
	blue := color.NRGBA{0, 0, 255, 255}
	for _, c := range []struct {
		name          string
		kind          string
		width, height int
		right         color.Color
		wantKind      string
		wantW, wantH  int
	}{
		{"wide", "image/png", 1601, 401, blue, "image/jpeg", 800, 200},
		{"high", "image/jpeg", 100, 1200, blue, "image/jpeg", 50, 600},
		{"small", "image/png", 3, 2, blue, "image/jpeg", 3, 2},
		{"thin", "image/png", 5000, 1, blue, "image/jpeg", 800, 1},
		{"clear", "image/png", 1000, 300, color.NRGBA{}, "image/png", 800, 240},
		{"gif", "image/gif", 900, 9, blue, "", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := bytes.NewReader(encoded(t, c.kind, halves(c.width, c.height, c.right)))
			w, h := dimensions(data, c.kind)
			if w != c.width || h != c.height {
				t.Errorf("size %d×%d, want %d×%d", w, h, c.width, c.height)
			}
			thumb := thumbnail(t.Context(), data, c.kind, w, h)
			if c.wantKind == "" {
				if thumb != nil {
					t.Errorf("a thumbnail %+v", thumb)
				}
				return
			}
			if thumb == nil || thumb.Type != c.wantKind || thumb.Width != c.wantW || thumb.Height != c.wantH {
				t.Fatalf("thumbnail %+v", thumb)
			}
			small, _, err := image.Decode(bytes.NewReader(thumb.Data))
			if err != nil || small.Bounds() != image.Rect(0, 0, c.wantW, c.wantH) {
				t.Fatalf("the thumbnail is %v, %v", small.Bounds(), err)
			}
			if r, _, b, a := small.At(0, 0).RGBA(); c.wantW > 10 && (r < 0xf000 || b > 0x1000 || a != 0xffff) {
				t.Errorf("to the left it is %x %x %x", r, b, a)
			}
			if r, _, _, a := small.At(c.wantW-1, c.wantH-1).RGBA(); c.name == "clear" && (r != 0 || a != 0) {
				t.Errorf("to the right it is %x %x", r, a)
			}
		})
	}
}

func TestAnimated(t *testing.T) {
	still := string(encoded(t, "image/png", halves(3, 2, color.White)))
	yes, no := true, false
	for _, c := range []struct {
		kind, head string
		want       *bool
	}{
		{"image/png", still, &no},
		{"image/png", strings.Replace(still, "IDAT", "acTL\x00IDAT", 1), &yes},
		{"image/png", strings.Replace(still, "IDAT", "IDATacTL", 1), &no},
		{"image/png", still[:30], nil},
		{"image/webp", "RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x12", &yes},
		{"image/webp", "RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x10", &no},
		{"image/webp", "RIFF\x00\x00\x00\x00WEBPVP8L\x0a\x00\x00\x00\x12", &no},
		{"image/webp", "RIFF", nil},
		{"image/gif", "GIF89a", nil},
	} {
		if diff := cmp.Diff(c.want, animated([]byte(c.head), c.kind)); diff != "" {
			t.Errorf("%s %.40q: %s", c.kind, c.head, diff)
		}
	}
}

// TestBombs: neither a huge image nor a broken one is decoded.
func TestBombs(t *testing.T) {
	var out bytes.Buffer
	quick := png.Encoder{CompressionLevel: png.NoCompression}
	if err := quick.Encode(&out, image.NewGray(image.Rect(0, 0, 3841, 2160))); err != nil {
		t.Fatal(err)
	}
	huge := out.Bytes()
	if w, h := dimensions(bytes.NewReader(huge), "image/png"); w != 3841 || h != 2160 {
		t.Errorf("size %d×%d", w, h)
	}
	if thumb := thumbnail(t.Context(), bytes.NewReader(huge), "image/png", 3841, 2160); thumb != nil {
		t.Error("more pixels than a 4K screen has were decoded")
	}
	if w, h := dimensions(bytes.NewReader(huge[:20]), "image/png"); w != 0 || h != 0 {
		t.Errorf("a cut header says %d×%d", w, h)
	}
	small := encoded(t, "image/png", halves(100, 100, color.White))
	if thumb := thumbnail(t.Context(), bytes.NewReader(small[:len(small)-30]), "image/png", 100, 100); thumb != nil {
		t.Error("a cut image has a thumbnail")
	}
	if w, h := dimensions(bytes.NewReader(small), "text/plain"); w != 0 || h != 0 {
		t.Error("a text has a size")
	}
}

func TestWebP(t *testing.T) {
	for _, c := range []struct {
		head string
		w, h int
	}{
		{"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x20\x03\x58\x02", 800, 600},
		{"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f\x1f\xc3\x95\x00\x00\x00\x00\x00\x00", 800, 600},
		{"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x1f\x03\x00\x57\x02\x00", 800, 600},
		{"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff", 0, 0},
		{"RIFF\x00\x00\x00\x00WEBPVP8 ", 0, 0},
	} {
		if w, h := dimensions(bytes.NewReader([]byte(c.head)), "image/webp"); w != c.w || h != c.h {
			t.Errorf("%q has size %d×%d, want %d×%d", c.head, w, h, c.w, c.h)
		}
	}
}

func BenchmarkThumbnail(b *testing.B) {
	data := bytes.NewReader(encoded(b, "image/jpeg", halves(3840, 2160, color.White)))
	b.ReportAllocs()
	for b.Loop() {
		if thumbnail(b.Context(), data, "image/jpeg", 3840, 2160) == nil {
			b.Fatal("no thumbnail")
		}
	}
}
