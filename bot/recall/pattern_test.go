package recall

import (
	"regexp"
	"testing"
)

func TestPatternsCompile(t *testing.T) {
	if len(patterns) < 50 {
		t.Errorf("only %d patterns are listed", len(patterns))
	}
	for _, p := range patterns {
		if _, err := regexp.Compile(p); err != nil {
			t.Error(err)
		}
	}
}
