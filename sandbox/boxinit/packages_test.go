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

// A new container of a pod has the lists of the one before beside its own, until the bot has removed them. Nothing is
// known of its installation, which may have been one in the container before.
func TestRenew(t *testing.T) {
	dir := t.TempDir()
	s, lists, before := store{dir}, filepath.Join(dir, "packages"), filepath.Join(dir, "before")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what, want string) {
		t.Helper()
		data, _ := os.ReadFile(before + DpkgStatus)
		if string(data) != want {
			t.Errorf("%s: %q, want %q", what, data, want)
		}
	}
	write(s.file(ReinstallRun, "begin.json"), "{}")
	write(lists+DpkgStatus, "one")
	renew(s, lists, before)
	expect("without a pod", "")
	t.Setenv(PodEnv, "1")
	renew(s, lists, before)
	expect("in a pod", "one")
	if status, err := s.status(ReinstallRun); err != nil || status.State != RunNone {
		t.Errorf("the installation: %+v, %v", status, err)
	}
	write(lists+DpkgStatus, "two")
	renew(s, lists, before)
	expect("not read yet", "one")
	if err := os.RemoveAll(before); err != nil {
		t.Fatal(err)
	}
	renew(s, lists, before)
	expect("read", "two")
}
