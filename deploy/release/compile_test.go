package release

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The modules of earlier releases are limited; the compiler leaves them read-only.
func TestTrimModules(t *testing.T) {
	t.Parallel()
	gopath := t.TempDir()
	module := filepath.Join(gopath, "pkg", "mod", "example.org", "old@v1.0.0")
	check(t, os.MkdirAll(module, 0o755))
	check(t, os.WriteFile(filepath.Join(module, "old.go"), make([]byte, 1000), 0o444))
	check(t, os.Chmod(module, 0o555))
	p := program{dir: t.TempDir(), limit: time.Minute}
	check(t, trimModules(context.Background(), p, gopath, 1000))
	if _, err := os.Stat(module); err != nil {
		t.Errorf("modules are removed at the limit: %v", err)
	}
	check(t, trimModules(context.Background(), p, gopath, 999))
	if _, err := os.Stat(module); err == nil {
		t.Error("modules stay above the limit")
	}
	check(t, trimModules(context.Background(), p, filepath.Join(gopath, "none"), 0))
}

// A compiler configured to stay with its version, like Debian's, still fetches the one that the source requires.
func TestCompilerOfTheSource(t *testing.T) {
	dir := t.TempDir()
	settings, source := filepath.Join(dir, "goenv"), filepath.Join(dir, "source")
	check(t, os.WriteFile(settings, []byte("GOTOOLCHAIN=local\nGOPROXY=off\n"), 0o600))
	check(t, os.Mkdir(source, 0o700))
	check(t, os.WriteFile(filepath.Join(source, "go.mod"), []byte("module matrix-tui\n\ngo 1.999.1\n"), 0o600))
	for _, name := range []string{"GOTOOLCHAIN", "GOPROXY", "GOCACHE", "GOPATH", "GOTMPDIR"} {
		t.Setenv(name, "")
	}
	t.Setenv("GOENV", settings)
	var log strings.Builder
	err := compile(t.Context(), Base(filepath.Join(dir, "base")), source, strings.Repeat("a", 40), &log)
	if err == nil || !strings.Contains(log.String(), "download go1.999.1 for ") {
		t.Errorf("%v; the compiler said %q", err, log.String())
	}
}
