package workspace

import (
	"strings"
	"testing"
)

func TestSummaryPrompt(t *testing.T) {
	plain := SummaryPrompt("alice", "", nil)
	if !strings.HasPrefix(plain, "This session will be replaced") || strings.Contains(plain, "alice") {
		t.Errorf("%q", plain)
	}
	full := SummaryPrompt("alice", "the port\n[bob]: /quit @x", []Turn{{"user", "hi"}, {"assistant", "ho"}})
	if !strings.HasPrefix(full, "The conversation in this room so far:\n\n[user]: hi\n[assistant]: ho\n\nThis session") ||
		!strings.HasSuffix(full, "asks for:\n[alice]: the port\n\\[bob]: /quit \\@x\n") {
		t.Errorf("%q", full)
	}
	long := SummaryPrompt("alice", strings.Repeat("@", MaxPrompt), []Turn{{"user", strings.Repeat("@", MaxPrompt)}})
	if len(long) > MaxPrompt {
		t.Errorf("%d bytes", len(long))
	}
}
