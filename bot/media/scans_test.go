package media

import (
	"bytes"
	"context"
	"image/color"
	"os"
	"path/filepath"
	"testing"
)

// scanned is a JPEG that sends its pixels n times.
func scanned(t *testing.T, n int) []byte {
	t.Helper()
	once := encoded(t, "image/jpeg", halves(64, 64, color.White))
	at := bytes.LastIndex(once, []byte{0xFF, 0xDA})
	scan := once[at : len(once)-2]
	return append(append(bytes.Clone(once[:at]), bytes.Repeat(scan, n)...), 0xFF, 0xD9)
}

// Each scan costs as much as a whole image: a small file must not hold many.
func TestManyScans(t *testing.T) {
	for n, want := range map[int]bool{1: true, maxScans: true, maxScans + 1: false, 10_000: false} {
		data := scanned(t, n)
		if got := jpegScans(bytes.NewReader(data), maxScans); got != min(n, maxScans+1) {
			t.Errorf("%d scans are counted as %d", n, got)
		}
		if thumb := thumbnail(t.Context(), bytes.NewReader(data), "image/jpeg", 64, 64); (thumb != nil) != want {
			t.Errorf("%d scans have a thumbnail: %v", n, thumb != nil)
		}
	}
}

func TestThumbnailEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if thumbnail(ctx, bytes.NewReader(scanned(t, 1)), "image/jpeg", 64, 64) != nil {
		t.Error("an image is decoded for nobody")
	}
}

func FuzzScans(f *testing.F) {
	f.Add([]byte{0xFF, 0xD8, 0xFF, 0xDA, 0, 2, 1, 0xFF, 0, 0xFF, 0xD0, 0xFF, 0xFF, 0xDA, 0, 2, 0xFF, 0xD9})
	f.Add([]byte{0xFF, 0xE1, 0xFF, 0xFF, 0xFF, 0xDA})
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := jpegScans(bytes.NewReader(data), 3); n < 0 || n > 4 || n > bytes.Count(data, []byte{0xDA}) {
			t.Errorf("%d scans in %x", n, data)
		}
	})
}

// An image whose scaling has failed too often is sent without a thumbnail.
func TestAttemptsAtScaling(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, scanned(t, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, allowed := range []bool{true, false} {
		item, asked := &Item{Name: "a.jpg", Path: path}, ""
		err := item.examine(t.Context(), file, func(_ context.Context, key string, try func() bool) error {
			asked = key
			if allowed && !try() {
				t.Error("it failed")
			}
			return nil
		})
		if err != nil || asked == "" || asked != item.Key || (item.Thumb != nil) != allowed {
			t.Errorf("allowed %v: %v, asked about %q, thumbnail %v", allowed, err, asked, item.Thumb != nil)
		}
	}
}
