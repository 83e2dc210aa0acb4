package baddisk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	Help()
	os.Exit(m.Run())
}

// Chosen operations on chosen files fail, and nothing else does.
func TestDisk(t *testing.T) {
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		if os.Getenv("MATRIX_TUI_E2E") == "require" {
			t.Fatal("MATRIX_TUI_E2E=require: this test needs root and /dev/fuse")
		}
		t.Skip("NOT TESTED: this test needs root and /dev/fuse")
	}
	folder, at := t.TempDir(), t.TempDir()
	d, err := Mount(folder, at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Unmount(); err != nil {
			t.Error(err)
		}
	}()
	f, err := os.Create(filepath.Join(at, "bad.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	good := func() error { return os.WriteFile(filepath.Join(at, "good.db"), []byte("word"), 0o600) }
	put := func() error { _, err := f.WriteAt([]byte("word"), 0); return err }
	want := func(what string, err, wanted error) {
		t.Helper()
		if !errors.Is(err, wanted) {
			t.Errorf("%s: %v, want %v", what, err, wanted)
		}
	}
	want("before", errors.Join(put(), f.Sync(), good()), nil)
	must(d.Fail("write", "^bad"))
	want("write", put(), syscall.EIO)
	want("another file", good(), nil)
	must(d.Work())
	want("afterwards", put(), nil)
	must(d.Fail("sync", "^bad"))
	want("sync", f.Sync(), syscall.EIO)
	if n, err := d.Failed(); n != 1 || err != nil {
		t.Errorf("%d operations failed, want 1; %v", n, err)
	}
	if data, err := os.ReadFile(filepath.Join(folder, "bad.db")); err != nil || string(data) != "word" {
		t.Errorf("%q, %v", data, err)
	}
}
