package memory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"matrix-tui/state/damage"
)

func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, Folder))
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestExamine(t *testing.T) {
	dir := t.TempDir()
	if files, err := Files(dir); err != nil || len(files) > 0 {
		t.Errorf("no folder: %v, %v", files, err)
	}
	x := filled(t, dir)
	before := filesIn(t, dir)
	sound := Examine(t.Context(), dir, x.path)
	if sound.Err != nil || sound.Room != den || sound.Bytes == 0 || time.Since(sound.Changed) > time.Minute {
		t.Errorf("sound: %+v", sound)
	}
	if after := filesIn(t, dir); !slices.Equal(before, after) {
		t.Errorf("files %v, before %v", after, before)
	}

	y := openIn(t, dir) // in use, with a WAL
	put(t, y, SourceMemory, "MEMORY.md", "- a walrus")
	if got := Examine(t.Context(), dir, x.path); got.Err != nil || got.Bytes <= sound.Bytes || !got.Changed.After(sound.Changed) {
		t.Errorf("in use: %+v", got)
	}
	_, err := y.db.ExecContext(t.Context(), "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
	must(t, err)
	_, err = y.db.ExecContext(t.Context(), "INSERT INTO meta (key, value) VALUES ('x', 'y'); COMMIT")
	must(t, err)
	began := time.Now()
	if got := Examine(t.Context(), dir, x.path); !errors.Is(got.Err, ErrLocked) || time.Since(began) > 5*time.Second {
		t.Errorf("locked: %+v after %v", got, time.Since(began))
	}
	must(t, y.Close())

	for name, harm := range map[string]func(path string){
		"cut":     func(path string) { must(t, os.Truncate(path, 5000)) },
		"schema":  func(path string) { overwrite(t, path, 100, 3000) },
		"content": func(path string) { overwrite(t, path, 5*pageSize, 3*pageSize) },
		"no index": func(path string) {
			must(t, os.WriteFile(path, []byte("this is no database at all, but a text"), 0o600))
		},
		"empty":  func(path string) { must(t, os.Truncate(path, 0)) },
		"marked": func(path string) { must(t, damage.Mark(path, errors.New("test"))) },
		"moved":  func(path string) { must(t, os.Rename(path, Path(dir, "!other:x"))) },
	} {
		dir = t.TempDir()
		harm(filled(t, dir).path)
		files, err := Files(dir)
		must(t, err)
		before := filesIn(t, dir)
		if got := Examine(t.Context(), dir, files[0]); !damage.Is(got.Err) {
			t.Errorf("%s: %+v", name, got)
		}
		if after := filesIn(t, dir); !slices.Equal(before, after) {
			t.Errorf("%s: files %v, before %v", name, after, before)
		}
	}

	dir = t.TempDir()
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if got := Examine(late, dir, filled(t, dir).path); !errors.Is(got.Err, context.DeadlineExceeded) {
		t.Errorf("out of time: %+v", got)
	}
}
