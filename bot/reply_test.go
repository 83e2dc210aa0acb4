package bot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/matrix"
)

// A text that names other people notifies only the requester, and only in a group.
func TestAnswerMentions(t *testing.T) {
	parts := matrix.Parts("ask @bob:here or [him](https://matrix.to/#/@bob:here)\n\n"+strings.Repeat("more\n\n", 5000), "$task")
	if len(parts) < 2 {
		t.Fatalf("%d parts", len(parts))
	}
	d := newDeciding(t, everything)
	for _, c := range []struct {
		members, invited int
		want             *matrix.Mentions
	}{{2, 0, &matrix.Mentions{}}, {2, 1, &matrix.Mentions{UserIDs: []string{"@ann:here"}}}, {3, 0, &matrix.Mentions{UserIDs: []string{"@ann:here"}}}} {
		d.bot.members.Learn(d.id, d.bot.members.Version(), c.members)
		d.bot.invited.Learn(d.id, d.bot.invited.Version(), c.invited)
		one := matrix.Text("done")
		taskRoom{d.room}.mention(t.Context(), one, "@ann:here")
		if diff := cmp.Diff(c.want, one.Mentions); diff != "" {
			t.Errorf("%d members, %d invited: %s", c.members, c.invited, diff)
		}
	}
	taskRoom{d.room}.mention(t.Context(), parts[0], "@ann:here")
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
