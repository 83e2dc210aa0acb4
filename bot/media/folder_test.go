package media

import (
	"os"
	"path/filepath"
	"testing"
)

// Decrypted files that an earlier process left behind are removed.
func TestEmptyDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tmp")
	for range 2 {
		if err := EmptyDir(dir); err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Fatal(info.Mode(), err)
		}
		if err := os.WriteFile(filepath.Join(dir, "inbox-1"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
