package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Make builds the release of a commit of a git repository (a folder or any remote) and stores it under its name. A
// complete release is left alone. It returns the release's commit, 12 digits.
func Make(ctx context.Context, base Base, from, ref string, log io.Writer) (string, error) {
	if ref != "" && !ValidRef(ref) {
		return "", fmt.Errorf("%q is not a tag, branch or commit", ref)
	}
	m, err := openMirror(ctx, base, from)
	if err != nil {
		return "", err
	}
	name, commit, err := m.find(ctx, ref, false)
	if err != nil {
		return "", err
	}
	info, err := m.describe(ctx, name, commit)
	if err != nil {
		return "", err
	}
	return Short(commit), build(ctx, base, m, info, log)
}

// build builds the release of a commit in the mirror: its files, the two programs, and what describes them.
func build(ctx context.Context, base Base, m *mirror, info Info, log io.Writer) error {
	if base.Check(Short(info.Commit)) == nil {
		return nil
	}
	return base.keep(Short(info.Commit), func(into string) error {
		err := m.checkout(ctx, info.Commit, into)
		if err == nil {
			err = compile(ctx, base, into, info.Commit, log)
		}
		if err == nil {
			err = describeParts(into, info.Commit)
		}
		if err == nil {
			err = writeJSON(filepath.Join(into, "release.json"), 0o644, info)
		}
		if err == nil {
			err = writeSums(into)
		}
		return err
	})
}

// keep stores a release under its name, durably, once fill has put it into a folder.
func (b Base) keep(commit string, fill func(into string) error) error {
	made := b.path("releases", "."+commit+".new")
	defer os.RemoveAll(made)
	err := errors.Join(os.RemoveAll(made), os.MkdirAll(made, 0o755))
	if err == nil {
		err = fill(made)
	}
	if err == nil { // it has a thousand files
		_, err = program{limit: buildTime}.run(context.Background(), "sync", "--file-system", made)
	}
	if err == nil {
		err = os.RemoveAll(b.Dir(commit)) // the existing one failed its check
	}
	if err == nil {
		err = os.Rename(made, b.Dir(commit))
	}
	if err == nil {
		err = syncDir(b.path("releases"))
	}
	if err != nil {
		return full(fmt.Errorf("store release %s: %w", commit, err), b)
	}
	return nil
}

const (
	// buildTime is how long the compiler may take on a slow host with an empty cache.
	buildTime = 20 * time.Minute
	// maxModules bounds the compiler's downloaded modules, in bytes: about three times what one release needs.
	maxModules = 4 << 30
)

var exportedFlags = regexp.MustCompile(`(?m)^export GOFLAGS="([^"$` + "`" + `]*)"$`)

// compile builds the two programs in a folder of the sources, at low priority.
func compile(ctx context.Context, base Base, dir, commit string, log io.Writer) error {
	path := os.Getenv("PATH") + ":/usr/local/go/bin:" + base.path("cache", "go", "bin")
	env := []string{"CGO_ENABLED=0", "GOWORK=off", "PATH=" + path}
	script, _ := os.ReadFile(filepath.Join(dir, "deploy", "lib.sh"))
	if found := exportedFlags.FindSubmatch(script); found != nil {
		env = append(env, "GOFLAGS="+string(found[1]))
	}
	// Debian's go does not fetch the version that the module requires unless it is told to.
	own := map[string]string{"GOCACHE": base.path("cache", "go-build"), "GOPATH": base.path("cache", "gopath"),
		"GOTOOLCHAIN": "auto"}
	for name, value := range own {
		if os.Getenv(name) == "" {
			env = append(env, name+"="+value)
		}
	}
	p := program{dir: dir, env: env, log: log, limit: buildTime}
	if err := trimModules(ctx, p, base.path("cache", "gopath"), maxModules); err != nil {
		return err
	}
	for name, ldflags := range map[string]string{"boxinit": "-s -w -buildid=",
		"matrix-tui": "-s -w -X main.commit=" + commit} {
		if _, err := p.run(ctx, "nice", "-n", "10", "go", "build", "-trimpath", "-ldflags="+ldflags, "-o", name,
			"./cmd/"+name); err != nil {
			return failed(fmt.Errorf("build %s of %s: %w", name, Short(commit), err),
				"Release %s does not compile here. On a host without Go, set UPDATE_SOURCE to a folder of release archives "+
					"(archive+https://…).", Short(commit))
		}
	}
	return nil
}

// trimModules removes all modules from a GOPATH when those of earlier releases have made it larger than limit, in
// bytes.
func trimModules(ctx context.Context, p program, gopath string, limit int64) error {
	size, err := sizeOf(gopath)
	if errors.Is(err, fs.ErrNotExist) || err == nil && size <= limit {
		return nil
	}
	p.env = append(p.env[:len(p.env):len(p.env)], "GOPATH="+gopath, "GOMODCACHE=") // and no other
	if err == nil {
		_, err = p.run(ctx, "env", "go", "clean", "-modcache")
	}
	if err != nil {
		return fmt.Errorf("forget old modules: %w", err)
	}
	return nil
}
