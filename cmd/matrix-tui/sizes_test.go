package main

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// What is larger than this has more than one job.
const (
	maxMethods = 25 // of a type
	maxFiles   = 40 // of a package
	maxLines   = 4500
	maxFile    = 300 // lines of a file
	maxColumns = 120 // of a line
)

// larger are exceptions, to be split next.
var larger = map[string]bool{
	"bot/task": true, "state": true,
}

// TestSizes holds what a release is made of to these sizes.
func TestSizes(t *testing.T) {
	for _, p := range goList(t, "-deps", "./cmd/matrix-tui", "./cmd/boxinit") {
		folder, ours := inside(p.ImportPath)
		if !ours {
			continue
		}
		lines, methods := 0, map[string]int{}
		for _, name := range p.GoFiles {
			data, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			n := strings.Count(string(data), "\n")
			if lines += n; n > maxFile && !larger[folder+"/"+name] {
				t.Errorf("%s/%s has %d lines: at most %d", folder, name, n, maxFile)
			}
			countMethods(t, name, data, methods)
			for _, line := range longLines(data) {
				t.Errorf("%s/%s:%d is longer than %d characters", folder, name, line, maxColumns)
			}
		}
		if (len(p.GoFiles) > maxFiles || lines > maxLines) && !larger[folder] {
			t.Errorf("%s has %d files with %d lines: at most %d and %d", folder, len(p.GoFiles), lines, maxFiles, maxLines)
		}
		for name, n := range methods {
			if n > maxMethods && !larger[folder+"."+name] {
				t.Errorf("%s.%s has %d methods: at most %d", folder, name, n, maxMethods)
			}
		}
	}
}

func countMethods(t *testing.T, name string, data []byte, methods map[string]int) {
	file, err := parser.ParseFile(token.NewFileSet(), name, data, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		typed := f.Recv.List[0].Type
		if star, ok := typed.(*ast.StarExpr); ok {
			typed = star.X
		}
		if id, ok := typed.(*ast.Ident); ok {
			methods[id.Name]++
		}
	}
}

// longLines returns the numbers of the lines that are too long. What is between backquotes cannot always be broken:
// lines that begin or end inside of it do not count.
func longLines(data []byte) (long []int) {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(data))
	raw := map[int]bool{}
	var s scanner.Scanner
	s.Init(file, data, nil, 0)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.STRING && strings.HasPrefix(text, "`") {
			first := file.Line(pos)
			for i := range strings.Count(text, "\n") + 1 {
				raw[first+i] = true
			}
		}
	}
	for i, line := range strings.Split(string(data), "\n") {
		if utf8.RuneCountInString(line) > maxColumns && !raw[i+1] {
			long = append(long, i+1)
		}
	}
	return long
}
