package workspace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFirstFiles(t *testing.T) {
	want := map[string]string{"/workspace/context.md": "# Context\n", "/workspace/status.md": "# Status Log\n"}
	if diff := cmp.Diff(want, FirstFiles()); diff != "" {
		t.Error(diff)
	}
}
