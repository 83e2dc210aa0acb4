package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Make builds the release of a commit of a git repository (a folder or any remote) and stores it under its name. A
// complete release is left alone. It returns the release's commit, 12 digits.
func Make(ctx context.Context, base Base, from, ref string, log io.Writer) (string, error) {
	if abs, err := filepath.Abs(from); err == nil {
		if _, err := os.Stat(abs); err == nil {
			from = abs
		}
	}
	if ref != "" && !ValidRef(ref) {
		return "", fmt.Errorf("%q is not a tag, branch or commit", ref)
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

// build builds the release of a commit in the mirror.
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
		return fmt.Errorf("start release %s: %w", short, err)
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
	if err := describeParts(made, commit); err != nil {
		return fmt.Errorf("describe the parts of release %s: %w", short, err)
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
	number, err := m.number(ctx, commit)
	if err != nil {
		return err
	}
	if err := describe(made, Info{Recipe: recipe, Commit: commit, Version: version, Built: time.Now().UTC(), Number: number, History: history}); err != nil {
		return fmt.Errorf("describe release %s: %w", short, err)
	}
	return base.keep(made, short)
}

// keep moves a complete folder to the release's name, durably.
func (b Base) keep(made, short string) error {
	if err := syncTree(made); err != nil {
		return fmt.Errorf("write release %s: %w", short, err)
	}
	if err := os.RemoveAll(b.Dir(short)); err != nil { // the existing one failed its check
		return fmt.Errorf("replace release %s: %w", short, err)
	}
	if err := os.Rename(made, b.Dir(short)); err != nil {
		return fmt.Errorf("name release %s: %w", short, err)
	}
	return syncDir(filepath.Dir(b.Dir(short)))
}

// describe writes release.json and the checksums.
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

// syncTree syncs a folder with everything in it.
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
