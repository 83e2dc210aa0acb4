package main

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// hidden reports a field or method of a struct type that hides one which an embedded type would promote: x.Name then
// means something else than in the embedded type's own methods. A method may hide one that it calls, or one of an
// embedded interface: both extend it, which is what embedding is for. A comment "lint:hides" next to the member, with
// the reason, allows it.
var hidden = &analysis.Analyzer{
	Name: "hidden",
	Doc:  "report struct members that hide a promoted field or method",
	Run:  findHidden,
}

func findHidden(pass *analysis.Pass) (any, error) {
	c := &checker{pass: pass, allowed: map[int]bool{}}
	for _, file := range pass.Files {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				if strings.Contains(comment.Text, "lint:hides ") {
					c.allowed[c.line(comment)] = true
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.StructType:
				c.fields(n)
			case *ast.FuncDecl:
				c.method(n)
			}
			return true
		})
	}
	return nil, nil
}

type checker struct {
	pass    *analysis.Pass
	allowed map[int]bool // line → it has a comment that allows hiding; the files of a package are numbered consecutively
}

// line numbers the lines of all files of the package.
func (c *checker) line(n ast.Node) int {
	file := c.pass.Fset.File(n.Pos())
	return file.Base() + file.Line(n.Pos())
}

func (c *checker) fields(s *ast.StructType) {
	all, ok := c.pass.TypesInfo.TypeOf(s).(*types.Struct)
	if !ok {
		return
	}
	for _, field := range s.Fields.List {
		for _, name := range field.Names {
			if name.Name == "_" {
				continue
			}
			if below, by := promoted(all, name.Name, c.pass.Pkg); below != nil {
				c.report(name, "field", below, by)
			}
		}
	}
}

func (c *checker) method(f *ast.FuncDecl) {
	if f.Recv == nil {
		return
	}
	self, ok := c.pass.TypesInfo.Defs[f.Name].(*types.Func)
	if !ok {
		return
	}
	recv := self.Signature().Recv().Type()
	if p, ok := recv.(*types.Pointer); ok {
		recv = p.Elem()
	}
	all, ok := recv.Underlying().(*types.Struct)
	if !ok {
		return
	}
	below, by := promoted(all, f.Name.Name, c.pass.Pkg)
	if below == nil || types.IsInterface(by.Type()) || c.uses(f, below) {
		return
	}
	c.report(f.Name, "method", below, by)
}

// uses reports whether the method mentions the member it hides.
func (c *checker) uses(f *ast.FuncDecl, below types.Object) (found bool) {
	if f.Body != nil {
		ast.Inspect(f.Body, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && c.pass.TypesInfo.Uses[id] == below
			return !found
		})
	}
	return found
}

func (c *checker) report(name *ast.Ident, kind string, below types.Object, by *types.Var) {
	if line := c.line(name); c.allowed[line] || c.allowed[line-1] {
		return
	}
	c.pass.Reportf(name.Pos(), "%s %s hides %s of the embedded %s", kind, name.Name,
		types.ObjectString(below, types.RelativeTo(c.pass.Pkg)), by.Name())
}

// promoted returns the field or method of this name that an embedded field has, and that field.
func promoted(s *types.Struct, name string, from *types.Package) (types.Object, *types.Var) {
	for i := range s.NumFields() {
		f := s.Field(i)
		if !f.Embedded() {
			continue
		}
		if below, _, _ := types.LookupFieldOrMethod(f.Type(), true, from, name); below != nil {
			return below, f
		}
	}
	return nil, nil
}
