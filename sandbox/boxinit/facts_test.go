package boxinit

import (
	"os"
	"path/filepath"
	"testing"
)

// What a link leads to counts, as the CLI follows it: a linked skill is not what it was after somebody has edited it.
func TestFactsFollowLinks(t *testing.T) {
	dir := t.TempDir()
	settings, tree := filepath.Join(dir, "settings"), filepath.Join(dir, "linked")
	facts := Facts{Files: []string{settings + "/skills", settings + "/extensions", settings + "/file"}}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"skill/SKILL.md", "skill/docs/x", "more/SKILL.md", "extension/commands/a.toml", "unlinked/x", "file"} {
		write(filepath.Join(tree, name), "one")
	}
	link(tree+"/skill", settings+"/skills/foo")
	link("foo", settings+"/skills/again")
	link("../more", tree+"/skill/more") // a link in a linked folder
	link("nowhere", settings+"/skills/broken")
	link(tree+"/unlinked", tree+"/link")
	link(tree+"/file", settings+"/file")
	write(dir+"/local/a.toml", "one")
	for name, same := range map[string]bool{
		"linked/skill/SKILL.md": false, "linked/skill/docs/x": false, "linked/more/SKILL.md": false, "linked/file": false,
		"linked/extension/commands/a.toml": true, "linked/unlinked/x": true, "local/a.toml": true,
	} {
		before, err := facts.print()
		if err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(dir, name), "two")
		if after, err := facts.print(); err != nil || (after == before) != same {
			t.Errorf("%s was edited: same %v, %v", name, after == before, err)
		}
	}
	link("..", tree+"/skill/up") // in a circle
	before, err := facts.print()
	if err != nil {
		t.Errorf("links in a circle: %v", err)
	}
	write(tree+"/unlinked/x", "three")
	if after, err := facts.print(); err != nil || after == before {
		t.Errorf("a folder that a circle leads to was edited: same %v, %v", after == before, err)
	}
}
