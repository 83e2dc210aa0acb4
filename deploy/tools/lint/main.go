// Lint is the vet tool of this repository: go vet -vettool runs it, and go's build cache remembers its findings for
// each package. It checks what go vet does not: unused results and errors, errors that are compared or wrapped so that
// errors.Is cannot see them, and struct members that hide a promoted one. It reads code and never runs or changes it.
package main

import (
	"github.com/polyfloyd/go-errorlint/errorlint"
	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() {
	unitchecker.Main(
		unseen,
		errorlint.NewAnalyzer(),
		hidden,
	)
}
