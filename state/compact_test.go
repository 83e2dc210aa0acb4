package state

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompact(t *testing.T) {
	s := openStore(t, t.TempDir())
	var all []Turn
	for n := range 10 {
		all = append(all, Turn{Role: "user", Content: fmt.Sprint(n), Event: fmt.Sprint("$", n)})
	}
	must(t, s.Conversations.Set(ctx, "!a", all))
	must(t, s.Conversations.SetSession(ctx, "!a", "s1"))
	summary := Turn{Role: "assistant", Content: "summary", Event: "$c"}
	three := func([]Turn) int { return 3 }
	must(t, s.Conversations.Compact(ctx, "!a", "s0", summary, three)) // the session was replaced meanwhile
	must(t, s.Conversations.Compact(ctx, "!b", "", summary, three))
	if diff := cmp.Diff(all, historyOf(t, s, "!a")); diff != "" || s.Conversations.Session("!a") != "s1" || len(historyOf(t, s, "!b")) > 0 {
		t.Errorf("changed: %s %s", diff, s.Conversations.Session("!a"))
	}
	for range 2 {
		must(t, s.Conversations.Compact(ctx, "!a", "s1", summary, three))
		if diff := cmp.Diff(append([]Turn{summary}, all[7:]...), historyOf(t, s, "!a")); diff != "" || s.Conversations.Session("!a") != "" {
			t.Errorf("session %q: %s", s.Conversations.Session("!a"), diff)
		}
	}
	must(t, s.Conversations.SetSession(ctx, "!c", "s1"))
	must(t, s.Conversations.Compact(ctx, "!c", "s1", summary, three))
	if diff := cmp.Diff([]Turn{summary}, historyOf(t, s, "!c")); diff != "" {
		t.Error(diff)
	}
}
