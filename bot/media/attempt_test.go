package media

import (
	"bytes"
	"context"
	"image/color"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// scanned is a JPEG of a square that sends its pixels n times.
func scanned(t *testing.T, side, n int) []byte {
	t.Helper()
	once := encoded(t, "image/jpeg", halves(side, side, color.White))
	at := bytes.LastIndex(once, []byte{0xFF, 0xDA})
	scan := once[at : len(once)-2]
	return append(append(bytes.Clone(once[:at]), bytes.Repeat(scan, n)...), 0xFF, 0xD9)
}

// Each scan costs as much as a whole image: a small file must not keep a processor busy with many.
func TestManyScans(t *testing.T) {
	data, begun := scanned(t, 2000, 1000), time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if thumbnail(ctx, bytes.NewReader(data), "image/jpeg", 2000, 2000) != nil {
		t.Error("it was decoded to the end")
	}
	if took := time.Since(begun); took > thumbTime {
		t.Errorf("it took %s", took)
	}
}

func TestThumbnailEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if thumbnail(ctx, bytes.NewReader(scanned(t, 64, 1)), "image/jpeg", 64, 64) != nil {
		t.Error("an image is decoded for nobody")
	}
}

// An image whose scaling has failed too often is sent without a thumbnail.
func TestAttemptsAtScaling(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, scanned(t, 64, 1), 0o600); err != nil {
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
