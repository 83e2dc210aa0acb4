package boxinit

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// In a pod, the lists of packages are copied when they have changed; elsewhere they are not.
func TestKeepLists(t *testing.T) {
	root, to := t.TempDir(), t.TempDir()
	write := func(text string, at time.Time) {
		t.Helper()
		path := root + DpkgStatus
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() string {
		data, _ := os.ReadFile(to + DpkgStatus)
		return string(data)
	}
	one := time.Now().Add(-time.Hour)
	write("one", one)
	keepLists(root, to)
	if got := kept(); got != "" {
		t.Errorf("without a pod: %q", got)
	}
	t.Setenv(PodEnv, "1")
	for _, step := range []struct {
		text, want string
		at         time.Time
	}{{"one", "one", one}, {"not looked at", "one", one}, {"two", "two", one.Add(time.Second)}} {
		write(step.text, step.at)
		keepLists(root, to)
		if got := kept(); got != step.want {
			t.Errorf("%q, want %q", got, step.want)
		}
	}
}
