package bot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// A text notifies only the requester, only in a group, and only with its first part.
func TestAnswerMentions(t *testing.T) {
	d := newDeciding(t, everything)
	for _, c := range []struct {
		members, invited int
		want             []string
	}{{2, 0, nil}, {2, 1, []string{"@ann:here"}}, {3, 0, []string{"@ann:here"}}} {
		d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), c.members)
		d.bot.roster.Invited.Learn(d.id, d.bot.roster.Invited.Version(d.id), c.invited)
		parts := taskRoom{d.room}.Render(t.Context(), task.Message{Mention: "@ann:here", Long: &task.Long{}, Message: state.Message{
			Relation: state.Reply, Target: "$task", Small: "2 s", Body: "ask @bob:here\n\n" + strings.Repeat("more\n\n", 3000),
		}})
		if len(parts) < 2 {
			t.Fatalf("%d parts", len(parts))
		}
		if diff := cmp.Diff(c.want, parts[0].Mentions); diff != "" || parts[0].Target != "$task" {
			t.Errorf("%d members, %d invited: %s; about %s", c.members, c.invited, diff, parts[0].Target)
		}
		for i, p := range parts[1:] {
			if len(p.Mentions) > 0 || p.Relation != "" || (p.Small != "") != (i == len(parts)-2) {
				t.Errorf("part %d: %+v", i+1, p)
			}
		}
	}
}
