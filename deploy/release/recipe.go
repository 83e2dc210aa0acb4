package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A release builds its sandbox image with its own script.
const imageScript = "deploy/image/build"

var (
	recipeLine = regexp.MustCompile(`^[0-9a-f]{64}$`)
	rootFile   = regexp.MustCompile(`\$ROOT/([A-Za-z0-9._/-]+)`)
)

// recipeOf returns the hash of everything the image of a release, complete or in progress, is built from.
func recipeOf(ctx context.Context, base Base, dir string) (string, error) {
	p := imageProgram(base, dir, time.Minute, nil)
	out, err := p.run(ctx, filepath.Join(dir, imageScript), "--recipe")
	recipe := strings.TrimSpace(out)
	if err == nil && !recipeLine.MatchString(recipe) {
		err = errors.New("no hash in the output")
	}
	if err != nil {
		return "", fmt.Errorf("ask for the recipe of the image: %w", err)
	}
	return recipe, nil
}

func imageProgram(base Base, dir string, limit time.Duration, log io.Writer, set ...string) program {
	set = append(set, "BOXINIT="+filepath.Join(dir, "boxinit"), "MATRIX_TUI_CACHE="+base.path("cache"))
	return program{dir: dir, limit: limit, log: log, env: environ(set...)}
}

// copyScripts copies deploy without this package, and the other files that the image is built from.
func copyScripts(source, into string) error {
	if err := os.CopyFS(filepath.Join(into, "deploy"), os.DirFS(filepath.Join(source, "deploy"))); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(into, "deploy", "release")); err != nil {
		return err
	}
	script, err := os.ReadFile(filepath.Join(source, imageScript))
	if err != nil {
		return err
	}
	for _, found := range rootFile.FindAllStringSubmatch(string(script), -1) {
		name := filepath.Clean(found[1])
		info, err := os.Stat(filepath.Join(source, name))
		if !filepath.IsLocal(name) || err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(into, name)), 0o755); err != nil {
			return err
		}
		if err := copyFile(filepath.Join(source, name), filepath.Join(into, name), false); err != nil {
			return err
		}
	}
	return nil
}
