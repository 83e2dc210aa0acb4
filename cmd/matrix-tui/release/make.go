package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// buildTime is how long the compiler may take on a slow host with nothing in
// its cache.
const buildTime = 20 * time.Minute

// Make builds the release of a commit of a git repository (a folder or any
// remote) and puts it under its name. One that is there already, and whole, is
// left as it is. It returns the release's commit, 12 digits.
func Make(ctx context.Context, base Base, from, ref string, log io.Writer) (string, error) {
	if abs, err := filepath.Abs(from); err == nil {
		if _, err := os.Stat(abs); err == nil {
			from = abs
		}
	}
	if ref != "" && !ValidRef(ref) {
		return "", fmt.Errorf("%q is no tag, branch or commit", ref)
	}
	m, err := openMirror(ctx, base, from)
	if err != nil {
		return "", err
	}
	if err := m.fetch(ctx); err != nil {
		return "", err
	}
	name, commit, err := m.find(ctx, ref, false)
	if err != nil {
		return "", err
	}
	return Short(commit), build(ctx, base, m, name, commit, log)
}

// build makes the release of a commit that the mirror has.
func build(ctx context.Context, base Base, m *mirror, name, commit string, log io.Writer) (err error) {
	short := Short(commit)
	if base.Check(short) == nil {
		return nil
	}
	source := base.path("cache", "build", short)
	made := base.path("releases", "."+short+".new")
	defer func() {
		err = full(errors.Join(err, os.RemoveAll(filepath.Dir(source)), os.RemoveAll(made)), base)
	}()
	if err := errors.Join(os.RemoveAll(source), os.RemoveAll(made), os.MkdirAll(filepath.Dir(source), 0o700), os.MkdirAll(made, 0o755)); err != nil {
		return fmt.Errorf("begin release %s: %w", short, err)
	}
	if err := m.checkout(ctx, commit, source); err != nil {
		return err
	}
	if err := compile(ctx, base, source, made, commit, log); err != nil {
		return err
	}
	if err := copyScripts(source, made); err != nil {
		return fmt.Errorf("copy scripts of release %s: %w", short, err)
	}
	history, err := m.history(ctx, commit)
	if err != nil {
		return err
	}
	version := strings.TrimPrefix(strings.TrimPrefix(name, "refs/tags/"), "refs/heads/")
	recipe, err := recipeOf(ctx, base, made)
	if err != nil {
		return err
	}
	if err := describe(made, Info{Recipe: recipe, Commit: commit, Version: version, Built: time.Now().UTC(), History: history}); err != nil {
		return fmt.Errorf("describe release %s: %w", short, err)
	}
	return base.keep(made, short)
}

// keep puts a complete folder under the release's name, durably.
func (b Base) keep(made, short string) error {
	if err := syncTree(made); err != nil {
		return fmt.Errorf("write release %s: %w", short, err)
	}
	if err := os.RemoveAll(b.Dir(short)); err != nil { // what is there failed its check
		return fmt.Errorf("replace release %s: %w", short, err)
	}
	if err := os.Rename(made, b.Dir(short)); err != nil {
		return fmt.Errorf("name release %s: %w", short, err)
	}
	return syncDir(filepath.Dir(b.Dir(short)))
}

// compile builds the two programs. Others on the host go first.
func compile(ctx context.Context, base Base, source, into, commit string, log io.Writer) error {
	compiler, err := findGo(base)
	if err != nil {
		return err
	}
	env := environ("CGO_ENABLED=0", "GOWORK=off", goflags(source))
	for name, dir := range map[string]string{"GOCACHE": "go-build", "GOPATH": "go", "GOTMPDIR": "tmp"} {
		if os.Getenv(name) == "" {
			if err := os.MkdirAll(base.path("cache", dir), 0o700); err != nil {
				return fmt.Errorf("make cache of the compiler: %w", err)
			}
			env = append(env, name+"="+base.path("cache", dir))
		}
	}
	if os.Getenv("GOTOOLCHAIN") == "" { // Debian's go stays with the version it is, unless it is told that it may fetch the one that the module wants
		env = append(env, "GOTOOLCHAIN=auto")
	}
	p := program{dir: source, env: env, log: log, limit: buildTime}
	for name, ldflags := range map[string]string{"boxinit": "-s -w -buildid=", "matrix-tui": "-s -w -X main.commit=" + commit} {
		_, err := p.run(ctx, "nice", "-n", "10", compiler, "build", "-trimpath", "-ldflags="+ldflags, "-o", filepath.Join(into, name), "./cmd/"+name)
		if err != nil {
			return &told{fmt.Errorf("build %s of %s: %w", name, Short(commit), err), fmt.Sprintf("Release %s does not compile here.", Short(commit)), linesOf(err)}
		}
	}
	return nil
}

// findGo gives the compiler: the one on PATH, or where the scripts put it.
func findGo(base Base) (string, error) {
	for _, name := range []string{"go", "/usr/local/go/bin/go", base.path("cache", "go", "bin", "go")} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", tell(errors.New("there is no go"), "There is no Go compiler on this host: install Go, or set UPDATE_SOURCE to a folder of release archives (archive+https://…).")
}

var exportedFlags = regexp.MustCompile(`(?m)^export GOFLAGS="([^"$` + "`" + `]*)"$`)

// goflags are the compiler's flags as the source itself has them.
func goflags(source string) string {
	script, err := os.ReadFile(filepath.Join(source, "deploy", "lib.sh"))
	if found := exportedFlags.FindSubmatch(script); err == nil && found != nil {
		return "GOFLAGS=" + string(found[1])
	}
	return "GOFLAGS=-buildvcs=false -tags=remote,containers_image_openpgp,goolm,exclude_graphdriver_btrfs"
}

// describe writes what the release says of itself, and its checksums.
func describe(dir string, info Info) error {
	data, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "release.json"), append(data, '\n'), 0o644); err != nil {
		return err
	}
	return writeSums(dir)
}

// syncTree makes a folder with all that is in it durable.
func syncTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			err = syncTree(path)
		} else {
			err = syncDir(path)
		}
		if err != nil {
			return err
		}
	}
	return syncDir(dir)
}
