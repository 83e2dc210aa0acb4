package bot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/matrix"
)

// A text that names other people notifies only the requester.
func TestAnswerMentions(t *testing.T) {
	parts := matrix.Parts("ask @bob:here or [him](https://matrix.to/#/@bob:here)\n\n"+strings.Repeat("more\n\n", 5000), "$task")
	if len(parts) < 2 {
		t.Fatalf("%d parts", len(parts))
	}
	mention(parts[0], "@ann:here")
	if diff := cmp.Diff(&matrix.Mentions{UserIDs: []string{"@ann:here"}}, parts[0].Mentions); diff != "" {
		t.Error(diff)
	}
	if parts[0].RelatesTo.InReplyTo.EventID != "$task" {
		t.Error("the first part does not reply to the task")
	}
	for _, p := range parts[1:] {
		if diff := cmp.Diff(&matrix.Mentions{}, p.Mentions); diff != "" || p.RelatesTo != nil {
			t.Errorf("a later part mentions or relates: %s", diff)
		}
	}
}
