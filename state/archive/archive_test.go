package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// packed is a tar stream of files by name.
func packed(t *testing.T, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(name)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestEach(t *testing.T) {
	three := packed(t, "one", "two", "three")
	stop := errors.New("stop")
	for name, c := range map[string]struct {
		data   []byte
		limits Limits
		want   string
		err    error
	}{
		"all":           {three, Limits{11, 3}, "one two three", nil},
		"too many":      {three, Limits{11, 2}, "one two", ErrTooLarge},
		"too large":     {three, Limits{10, 3}, "one two", ErrTooLarge},
		"cut":           {three[:1500], Limits{11, 3}, "one", ErrBroken},
		"no tar":        {bytes.Repeat([]byte("x"), 2000), Limits{11, 3}, "", ErrBroken},
		"refused":       {packed(t, "one", "stop", "two"), Limits{99, 9}, "one", stop},
		"nothing in it": {packed(t), Limits{}, "", nil},
	} {
		var got []string
		err := Each(bytes.NewReader(c.data), c.limits, func(h *tar.Header, content io.Reader) error {
			if h.Name == "stop" {
				return stop
			}
			data, err := io.ReadAll(content)
			if string(data) != h.Name || err != nil {
				t.Errorf("%s: %s holds %q, %v", name, h.Name, data, err)
			}
			got = append(got, h.Name)
			return nil
		})
		if !errors.Is(err, c.err) || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func FuzzEach(f *testing.F) {
	f.Add([]byte("x"), int64(9), 2)
	f.Fuzz(func(t *testing.T, data []byte, bytes_ int64, members int) {
		read, n := int64(0), 0
		_ = Each(bytes.NewReader(data), Limits{bytes_, members}, func(h *tar.Header, content io.Reader) error {
			got, _ := io.Copy(io.Discard, content)
			read, n = read+got, n+1
			return nil
		})
		if n > max(members, 0) || read > max(bytes_, 0) {
			t.Fatalf("%d bytes in %d members", read, n)
		}
	})
}
