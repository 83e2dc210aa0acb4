package media

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"maunium.net/go/mautrix/crypto/attachment"
)

// stored is a message with a file of the given bytes.
func stored(data []byte) (File, Getter) {
	return File{Kind: Plain, URL: "mxc://a/b", Name: "a.bin"}, func(context.Context, string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}
}

// locked is a message with an encrypted file.
func locked(data []byte) (File, []byte) {
	secret, encrypted := attachment.NewEncryptedFile(), bytes.Clone(data)
	secret.EncryptInPlace(encrypted)
	raw, _ := json.Marshal(map[string]any{"msgtype": "m.file", "body": "a.bin", "file": struct {
		attachment.EncryptedFile
		URL string `json:"url"`
	}{*secret, "mxc://a/b"}})
	f, _ := Describe(said(raw, "m.room.message"))
	return f, encrypted
}

func TestFetch(t *testing.T) {
	const max = 100
	some, exact, over := []byte("plain words"), bytes.Repeat([]byte("x"), max), bytes.Repeat([]byte("x"), max+1)
	for _, c := range []struct {
		name string
		data []byte
		set  func(*File, *[]byte)
		said string
	}{
		{"plain", some, nil, ""},
		{"just not too large", exact, nil, ""},
		{"empty", []byte{}, nil, ""},
		{"too large", over, nil, "The file a.bin is too large: I accept up to 100 B."},
		{"claims to be too large", some, func(f *File, _ *[]byte) { f.Size = max + 1 }, "The file a.bin is too large: I accept up to 100 B."},
		{"lies about its size", over, func(f *File, _ *[]byte) { f.Size = 1 }, "The file a.bin is too large: I accept up to 100 B."},
		{"no place", some, func(f *File, _ *[]byte) { f.URL = "" }, "The file a.bin arrived damaged. Please send it again."},
	} {
		for _, encrypted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, encrypted %v", c.name, encrypted), func(t *testing.T) {
				f, _ := stored(c.data)
				data := c.data
				if encrypted {
					f, data = locked(c.data)
				}
				if c.set != nil {
					c.set(&f, &data)
				}
				_, get := stored(data)
				checkFetch(t, get, f, max, c.data, c.said)
			})
		}
	}
}

// checkFetch fetches, and compares the bytes or the error, and the files left behind.
func checkFetch(t *testing.T, get Getter, f File, max int64, data []byte, said string) {
	t.Helper()
	dir := t.TempDir()
	got, err := Fetch(t.Context(), get, f, dir, max)
	if said == "" && err != nil {
		t.Fatal(err)
	}
	if said != "" {
		var s interface{ Sentence() string }
		if !errors.As(err, &s) || s.Sentence() != said {
			t.Errorf("error %v says nothing like %q", err, said)
		}
	} else {
		read, err := os.ReadFile(got.Path)
		if err != nil || !bytes.Equal(read, data) || got.Size != int64(len(data)) {
			t.Errorf("fetched %q, %v, want %q", read, err, data)
		}
		if info, err := os.Stat(got.Path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		if err := got.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

func TestFetchForged(t *testing.T) {
	const said = "The file a.bin arrived damaged. Please send it again."
	for name, forge := range map[string]func(*File, []byte){
		"other bytes":   func(_ *File, data []byte) { data[0] ^= 1 },
		"other hash":    func(f *File, _ []byte) { f.Secret.SHA256 = strings.Repeat("A", 43) },
		"no hash":       func(f *File, _ []byte) { f.Secret.SHA256 = "" },
		"no key":        func(f *File, _ []byte) { f.Secret.Key.K = "" },
		"other version": func(f *File, _ []byte) { f.Secret.Version = "v1" },
		"odd algorithm": func(f *File, _ []byte) { f.Secret.Key.Alg = "none" },
	} {
		t.Run(name, func(t *testing.T) {
			f, data := locked([]byte("secret words"))
			forge(&f, data)
			_, get := stored(data)
			checkFetch(t, get, f, 100, nil, said)
		})
	}
	f, data := locked([]byte("secret words"))
	_, get := stored(data[:5])
	checkFetch(t, get, f, 100, nil, said)
}

// TestInboxOfAContainer: a fetched file arrives in the container unchanged.
func TestInboxOfAContainer(t *testing.T) {
	container := realContainer(t)
	data := make([]byte, 3<<20)
	rand.Read(data)
	f, get := stored(data)
	got, err := Fetch(t.Context(), get, f, t.TempDir(), 50<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	other := *got
	other.Sum = hashOf("another file")
	for i, is := range []*Fetched{got, got, &other, &other, got} {
		path, err := Deliver(t.Context(), container, f.FileName(), anEvent, is, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, count := InboxDir+"/a.bin", "1"
		if is == &other {
			want = InboxDir + "/" + distinct("a.bin", anEvent)
		}
		if i > 1 {
			count = "2"
		}
		if path != want {
			t.Errorf("it is at %s, want %s", path, want)
		}
		if sum := sh(t, container, "sha256sum < "+path+" | cut -c1-64; ls ../inbox | wc -l"); sum != hashOf(string(data))+"\n"+count {
			t.Errorf("the container has %s", sum)
		}
	}
	// What is no file is left alone.
	sh(t, container, "cd ../inbox; rm a.bin; mkfifo a.bin")
	if path, err := Deliver(t.Context(), container, f.FileName(), anEvent, got, nil); err != nil || path != InboxDir+"/"+distinct("a.bin", anEvent) {
		t.Errorf("beside a pipe it is at %s, %v", path, err)
	}
}
