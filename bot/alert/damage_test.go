package alert

import (
	"strings"
	"testing"
	"time"

	"matrix-tui/state"
)

func TestRestored(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	if got := Restored(&state.Restored{From: "journal.db.corrupt-1", At: at}); !strings.Contains(got, "my copy from 4 March 2026, 05:06 UTC") ||
		!strings.Contains(got, "over HTTP since then may be lost") || !strings.Contains(got, "journal.db.corrupt-1") {
		t.Error(got)
	}
	if got := Restored(&state.Restored{From: "journal.db.corrupt-1"}); !strings.Contains(got, "no copy of it") || !strings.Contains(got, "send it again") {
		t.Error(got)
	}
	if got := KeysReplaced("crypto.db.corrupt-1", false); !strings.Contains(got, "until MATRIX_ACCESS_TOKEN") {
		t.Error(got)
	}
}
