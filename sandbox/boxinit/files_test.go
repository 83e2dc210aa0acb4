package boxinit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever the agent has put in the way of a run's file, the file is written, and what was
// there is kept beside it.
func TestMakeWay(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(dir string) error
		kept    string
	}{
		"nothing":   {func(string) error { return nil }, ""},
		"directory": {func(dir string) error { return os.MkdirAll(dir+"/gemini/settings.json/x", 0o755) }, "gemini/settings.json.old/x"},
		"directory again": {func(dir string) error {
			if err := os.MkdirAll(dir+"/gemini/settings.json.old/y", 0o755); err != nil {
				return err
			}
			return os.MkdirAll(dir+"/gemini/settings.json/x", 0o755)
		}, "gemini/settings.json.old/x"},
		"file above":          {func(dir string) error { return os.WriteFile(dir+"/gemini", nil, 0o644) }, "gemini.old"},
		"dangling link above": {func(dir string) error { return os.Symlink("/no/such/folder", dir+"/gemini") }, "gemini.old"},
		"link to itself":      {func(dir string) error { return os.Symlink("gemini", dir+"/gemini") }, "gemini.old"},
		"link to a folder":    {func(dir string) error { return os.Symlink(dir, dir+"/gemini") }, ""},
		"link to a directory": {func(dir string) error {
			if err := os.MkdirAll(dir+"/gemini", 0o755); err != nil {
				return err
			}
			return os.Symlink("/etc", dir+"/gemini/settings.json")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			defer func(before []string) { volumes = before }(volumes)
			volumes = []string{dir + "/"}
			if err := c.prepare(dir); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "gemini/settings.json")
			makeWay(path)
			if err := writeFile(path, strings.NewReader("{}"), 2, 0o600, false); err != nil {
				t.Fatal(err)
			}
			if data, err := os.ReadFile(path); err != nil || string(data) != "{}" {
				t.Errorf("%q, %v", data, err)
			}
			if c.kept != "" {
				if _, err := os.Lstat(filepath.Join(dir, c.kept)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
