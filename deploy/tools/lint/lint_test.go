package main

import (
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// TestOwn checks our own two analyzers against the expectations in testdata.
func TestOwn(t *testing.T) {
	both := &analysis.Analyzer{Name: "both", Doc: "both", Run: func(pass *analysis.Pass) (any, error) {
		if _, err := findHidden(pass); err != nil {
			return nil, err
		}
		return findUnseen(pass)
	}, Requires: unseen.Requires}
	analysistest.Run(t, analysistest.TestData(), both, "a")
}
