package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"matrix-tui/cmd/matrix-tui/settings"
)

// maxReadme is how many words somebody reads who wants the bot tonight.
const maxReadme = 1500

var (
	docLink    = regexp.MustCompile(`\]\(([^()\s]+)\)|src="([^"]+)"`)
	docHeading = regexp.MustCompile(`^#+ +(.+)$`)
)

// doc is a Markdown file without its code blocks.
type doc struct {
	path    string
	links   []string
	anchors map[string]bool
}

func TestDocuments(t *testing.T) {
	docs := readDocs(t, filepath.Join("..", ".."))
	for _, d := range docs {
		for _, link := range d.links {
			if err := followLink(docs, d, link); err != nil {
				t.Errorf("%s: link %s: %v", d.path, link, err)
			}
		}
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(readme))); n > maxReadme {
		t.Errorf("README.md has %d words, at most %d are allowed: move details to the documents that it links to", n, maxReadme)
	}
}

// TestDocumentedSettings compares the tables of deploy/README.md with the program.
func TestDocumentedSettings(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "deploy", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := func(names ...string) (string, bool) { // that begins with a cell containing one of the names
		for line := range strings.Lines(string(data)) {
			rest, isRow := strings.CutPrefix(line, "| ")
			first, _, _ := strings.Cut(rest, " |")
			if isRow && slices.ContainsFunc(names, func(name string) bool { return strings.Contains(first, name) }) {
				return line, true
			}
		}
		return "", false
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[settings.Config]()) {
		name, value := field.Tag.Get("env"), field.Tag.Get("envDefault")
		switch line, ok := row("`" + name + "`"); {
		case !ok:
			t.Errorf("setting %s has no row", name)
		case value != "" && !strings.Contains(line, "| `"+value+"` |") && !strings.Contains(line, "| "+value+" |"):
			t.Errorf("setting %s: its row does not have the default %s", name, value)
		}
	}
	for _, c := range commands {
		if _, ok := row("`matrix-tui "+c.Name, "`"+c.Name+" "); c.About != "" && !ok {
			t.Errorf("subcommand %s has no row", c.Name)
		}
	}
}

func readDocs(t *testing.T, root string) map[string]doc {
	t.Helper()
	docs := map[string]doc{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md" || !entry.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		docs[path] = parseDoc(path, string(data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) < 6 {
		t.Errorf("there are only %d documents", len(docs))
	}
	return docs
}

func parseDoc(path, text string) doc {
	d := doc{path: path, anchors: map[string]bool{}}
	code := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if code {
			continue
		}
		if heading := docHeading.FindStringSubmatch(line); heading != nil {
			d.anchors[anchor(heading[1])] = true
		}
		for _, found := range docLink.FindAllStringSubmatch(line, -1) {
			d.links = append(d.links, found[1]+found[2])
		}
	}
	return d
}

// anchor is the name that Git hosts give a heading: in lower case, without punctuation, spaces as hyphens.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

func followLink(docs map[string]doc, from doc, link string) error {
	u, err := url.Parse(link)
	if err != nil || u.Scheme == "https" {
		return err
	}
	if u.Scheme != "" || u.Host != "" || strings.HasPrefix(u.Path, "/") {
		return errors.New("neither https nor relative")
	}
	target := from.path
	if u.Path != "" {
		target = filepath.Join(filepath.Dir(from.path), filepath.FromSlash(u.Path))
	}
	if _, err := os.Stat(target); err != nil {
		return err
	}
	if u.Fragment != "" && !docs[target].anchors[u.Fragment] {
		return fmt.Errorf("%s has no heading %q", target, u.Fragment)
	}
	return nil
}

// TestNotes compares deploy/notes.md with the fragments that it is made of.
func TestNotes(t *testing.T) {
	deploy := filepath.Join("..", "..", "deploy")
	want, err := exec.Command(filepath.Join(deploy, "changelog", "build")).Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(deploy, "notes.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("deploy/notes.md is not what its fragments say: run deploy/changelog/build >deploy/notes.md")
	}
}
