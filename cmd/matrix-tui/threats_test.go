package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest = regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)`")
	writtenIn = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)\(`)
)

// TestThreatsAreTested checks that the tests that documents name exist.
func TestThreatsAreTested(t *testing.T) {
	root := filepath.Join("..", "..")
	tests, named := map[string]bool{}, map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		goes, says := strings.HasSuffix(path, "_test.go"), strings.HasSuffix(path, ".md")
		if err != nil || d.IsDir() || !goes && !says {
			return err
		}
		data, err := os.ReadFile(path)
		if goes {
			for _, found := range writtenIn.FindAllSubmatch(data, -1) {
				tests[string(found[1])] = true
			}
		} else {
			for _, found := range namedTest.FindAllSubmatch(data, -1) {
				named[string(found[1])] = path
			}
		}
		return err
	})
	if err != nil || len(named) < 50 {
		t.Fatalf("%d tests are named, %v", len(named), err)
	}
	for name, path := range named {
		if !tests[name] {
			t.Errorf("%s names %s, which does not exist", path, name)
		}
	}
}
