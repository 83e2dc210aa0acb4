package release

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What the compiler has fetched for earlier releases is bounded; it is
// read-only, as the compiler leaves it.
func TestTrimModules(t *testing.T) {
	t.Parallel()
	gopath := t.TempDir()
	module := filepath.Join(gopath, "pkg", "mod", "example.org", "old@v1.0.0")
	check(t, os.MkdirAll(module, 0o755))
	check(t, os.WriteFile(filepath.Join(module, "old.go"), make([]byte, 1000), 0o444))
	check(t, os.Chmod(module, 0o555))
	p := program{dir: t.TempDir(), env: environ(), limit: time.Minute}
	check(t, trimModules(context.Background(), p, "go", gopath, 1000))
	if _, err := os.Stat(module); err != nil {
		t.Errorf("modules go at the limit: %v", err)
	}
	check(t, trimModules(context.Background(), p, "go", gopath, 999))
	if _, err := os.Stat(module); err == nil {
		t.Error("modules stay above the limit")
	}
	check(t, trimModules(context.Background(), p, "go", filepath.Join(gopath, "none"), 0))
}
