package media

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"testing"
)

// gather collects from a container and closes the batch after the test.
func gather(t *testing.T, container Container, limits Limits) *Batch {
	t.Helper()
	if limits.Dir == "" {
		limits.Dir = t.TempDir()
	}
	b, err := Collect(t.Context(), container, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(limits.Dir); err != nil || len(left) > 0 {
			t.Errorf("temporary files are left: %v, %v", left, err)
		}
	})
	return b
}

// brief is the part of a batch that a test compares: names of items, and refusals.
func brief(b *Batch) (items []string, refused map[string]string) {
	refused = map[string]string{}
	for _, i := range b.Items {
		items = append(items, i.Name)
	}
	for _, r := range b.Refused {
		refused[r.Name] = r.Why
	}
	return items, refused
}

func bytesOf(t *testing.T, i *Item) string {
	t.Helper()
	data, err := os.ReadFile(i.Path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// archive returns the contents of a .tar.gz: bytes by name, folders with "/" at the end.
func archive(t *testing.T, i *Item) map[string]string {
	t.Helper()
	f, err := os.Open(i.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = string(data)
	}
}
