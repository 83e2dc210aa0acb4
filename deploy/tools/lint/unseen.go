package main

import (
	"regexp"
	"strings"

	"github.com/kisielk/errcheck/errcheck"
	"golang.org/x/tools/go/analysis"
)

// unseen is errcheck without the errors that nobody can act on. An error that is ignored on purpose is assigned to _,
// so that the reader sees it.
var unseen = &analysis.Analyzer{
	Name:     "unseen",
	Doc:      "report ignored errors",
	Requires: []*analysis.Analyzer{errcheck.Analyzer},
	Run:      findUnseen,
}

// harmless lists functions whose error changes nothing: closing, printing to a person, killing a process that may be
// gone, answering an HTTP client that may be gone, and writers that keep their first error until Flush.
var harmless = regexp.MustCompile(`^fmt\.Fp|^os\.Remove|\.(Close|CloseRead|CloseWrite|Cleanup|Unlock|SetDeadline)$|` +
	`^golang\.org/x/sys/unix\.Kill$|^\(\*?net/http\.Response(Writer\)\.Write|Controller\)\.Flush)$|` +
	`^\(\*?(bufio\.Writer|hash\.Hash)\)\.Write`)

func findUnseen(pass *analysis.Pass) (any, error) {
	for _, e := range pass.ResultOf[errcheck.Analyzer].(errcheck.Result).UncheckedErrors {
		if strings.HasSuffix(e.Pos.Filename, "_test.go") || e.FuncName == "" || harmless.MatchString(e.FuncName) {
			continue // without a name it is a receive from a channel of errors
		}
		for _, file := range pass.Files {
			if at := pass.Fset.File(file.Pos()); at.Name() == e.Pos.Filename {
				pass.Reportf(at.Pos(e.Pos.Offset), "the error of %s is ignored", e.FuncName)
			}
		}
	}
	return nil, nil
}
