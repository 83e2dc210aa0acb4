package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"matrix-tui/state/sentence"
)

// buildTime is how long the compiler may take on a slow host with an empty cache.
const buildTime = 20 * time.Minute

// maxModules bounds the compiler's downloaded modules, in bytes: about three times what one release needs.
const maxModules = 4 << 30

// compile builds the two programs, at low priority.
func compile(ctx context.Context, base Base, source, into, commit string, log io.Writer) error {
	compiler, err := findGo(base)
	if err != nil {
		return err
	}
	env := environ("CGO_ENABLED=0", "GOWORK=off", goflags(source))
	for name, dir := range map[string]string{"GOCACHE": "go-build", "GOPATH": "gopath", "GOTMPDIR": "tmp"} {
		if os.Getenv(name) == "" {
			if err := os.MkdirAll(base.path("cache", dir), 0o700); err != nil {
				return fmt.Errorf("create cache of the compiler: %w", err)
			}
			env = append(env, name+"="+base.path("cache", dir))
		}
	}
	if os.Getenv("GOTOOLCHAIN") == "" { // Debian's go does not fetch the version that the module requires unless it is told to
		env = append(env, "GOTOOLCHAIN=auto")
	}
	p := program{dir: source, env: env, log: log, limit: buildTime}
	if err := trimModules(ctx, p, compiler, base.path("cache", "gopath"), maxModules); err != nil {
		return err
	}
	for name, ldflags := range map[string]string{"boxinit": "-s -w -buildid=", "matrix-tui": "-s -w -X main.commit=" + commit} {
		_, err := p.run(ctx, "nice", "-n", "10", compiler, "build", "-trimpath", "-ldflags="+ldflags, "-o", filepath.Join(into, name), "./cmd/"+name)
		if err != nil {
			return sentence.Newf(fmt.Errorf("build %s of %s: %w", name, Short(commit), err), "Release %s does not compile here.", Short(commit)).With(linesOf(err))
		}
	}
	return nil
}

// findGo returns the compiler: the one on PATH, or the one that the scripts installed.
func findGo(base Base) (string, error) {
	for _, name := range []string{"go", "/usr/local/go/bin/go", base.path("cache", "go", "bin", "go")} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", sentence.Newf(errors.New("no go command"), "There is no Go compiler on this host: install Go, or set UPDATE_SOURCE to a folder of release archives (archive+https://…).")
}

var exportedFlags = regexp.MustCompile(`(?m)^export GOFLAGS="([^"$` + "`" + `]*)"$`)

// goflags returns the compiler's flags as the source itself sets them.
func goflags(source string) string {
	script, err := os.ReadFile(filepath.Join(source, "deploy", "lib.sh"))
	if found := exportedFlags.FindSubmatch(script); err == nil && found != nil {
		return "GOFLAGS=" + string(found[1])
	}
	return "GOFLAGS=-buildvcs=false -tags=remote,containers_image_openpgp,goolm,exclude_graphdriver_btrfs"
}

// trimModules removes all modules from a GOPATH when those of earlier releases have made it larger than limit, in
// bytes. A GOPATH that does not exist has nothing to remove.
func trimModules(ctx context.Context, p program, compiler, gopath string, limit int64) error {
	var size int64
	err := filepath.WalkDir(gopath, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("measure the compiler's modules: %w", err)
	}
	if size <= limit {
		return nil
	}
	p.env = append(slices.Clone(p.env), "GOPATH="+gopath, "GOMODCACHE=") // and no other
	if _, err := p.run(ctx, compiler, "clean", "-modcache"); err != nil {
		return fmt.Errorf("forget old modules: %w", err)
	}
	return nil
}
