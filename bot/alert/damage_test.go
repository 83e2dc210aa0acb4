package alert

import (
	"strings"
	"testing"

	"matrix-tui/state"
)

func TestSalvaged(t *testing.T) {
	whole := state.Salvage{From: "journal.db.corrupt-1", Pages: 9, Token: true, Events: 1, Tasks: 2}
	if got := Salvaged(&whole); !strings.Contains(got, "1 event, 2 unfinished tasks and 0 unsent messages") || !strings.Contains(got, "Nothing was lost") {
		t.Error(got)
	}
	part := whole
	part.LostPages, part.Token = 3, false
	if got := Salvaged(&part); !strings.Contains(got, "3 of 9 pages could not be read") || !strings.Contains(got, "lost my place") || strings.Contains(got, "Nothing was lost") {
		t.Error(got)
	}
	if got := KeysReplaced("crypto.db.corrupt-1", false); !strings.Contains(got, "until MATRIX_ACCESS_TOKEN") {
		t.Error(got)
	}
}
