package boxinit

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWithin(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"in": "sub", "sub/up": "deep", "out": "/etc", "root": "/", "sub/outward": "../../..", "loop": "loop",
		"twice": "out/passwd", "back": "sub/../../" + filepath.Base(dir) + "/sub"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]string{".": ".", "sub": "sub", "in": "sub", "in/up": "sub/deep", "back": "sub", "sub/../in": "sub",
		"out": "", "out/passwd": "", "root/etc/passwd": "", "sub/outward": "", "twice": "", "loop": "", "none": "", "..": "", "../etc": "", "/etc": "",
		"sub/../../etc": ""} {
		if got, err := within(root, name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v, want %q", name, got, err, want)
		}
	}
}
