package release

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	for path, want := range map[string]struct {
		base   Base
		commit string
		ok     bool
	}{
		"/home/m/releases/0123456789ab/matrix-tui": {"/home/m", "0123456789ab", true},
		"/home/m/current/matrix-tui":               {},
		"/home/m/releases/v1/matrix-tui":           {},
		"/usr/local/bin/matrix-tui":                {},
		"/releases/0123456789ab/matrix-tui":        {"/", "0123456789ab", true},
	} {
		base, commit, ok := Of(path)
		if base != want.base || commit != want.commit || ok != want.ok {
			t.Errorf("Of(%s) = %q, %q, %v", path, base, commit, ok)
		}
	}
}

func TestValidRef(t *testing.T) {
	for ref, want := range map[string]bool{
		"main": true, "v1.2.3": true, "feature/x": true, "0a1b2c3d": true, "v1.2+rc1": true,
		"": false, "-x": false, "--upload-pack=x": false, "a..b": false, "HEAD~1": false, "a b": false, "@{-1}": false, "a:b": false, "main\n": false,
	} {
		if ValidRef(ref) != want {
			t.Errorf("ValidRef(%q) = %v", ref, !want)
		}
	}
}

// plant creates a release that consists of a file.
func plant(t *testing.T, base Base, commit string, age time.Duration) {
	t.Helper()
	dir := base.Dir(commit)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "matrix-tui"), []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(dir, at, at); err != nil {
		t.Fatal(err)
	}
}

const one, two, three, four, five = "111111111111", "222222222222", "333333333333", "444444444444", "555555555555"

func TestUseAndPrune(t *testing.T) {
	base := Base(t.TempDir())
	for i, commit := range []string{five, four, three, two, one} {
		plant(t, base, commit, time.Duration(i)*time.Hour)
	}
	if err := os.Mkdir(base.path("releases", ".666666666666.new"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := base.Use(one); err != nil {
		t.Fatal(err)
	}
	if got := base.Current(); got != one {
		t.Errorf("current is %q", got)
	}
	if err := os.WriteFile(base.Program(two), []byte("changed"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := base.Use(two); err == nil {
		t.Error("a modified release was accepted")
	}
	if err := os.WriteFile(filepath.Join(base.Dir(three), "more"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := base.Use(three); err == nil {
		t.Error("a release with an extra file was accepted")
	}
	if err := base.Use("666666666666"); err == nil {
		t.Error("a missing release was accepted")
	}
	if err := base.prune(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(base.path("releases"))
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{one, three, four, five}; !slices.Equal(left, want) { // the newest three, and the one in use
		t.Errorf("left are %q, want %q", left, want)
	}
}
