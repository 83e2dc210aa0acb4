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
	must(t, s.Conversations.Compact(ctx, "!a", "s0", summary, 3)) // the session was replaced meanwhile
	must(t, s.Conversations.Compact(ctx, "!b", "", summary, 3))
	if diff := cmp.Diff(all, s.Conversations.History("!a")); diff != "" || s.Conversations.Session("!a") != "s1" || len(s.Conversations.History("!b")) > 0 {
		t.Errorf("changed: %s %s", diff, s.Conversations.Session("!a"))
	}
	for range 2 {
		must(t, s.Conversations.Compact(ctx, "!a", "s1", summary, 3))
		if diff := cmp.Diff(append([]Turn{summary}, all[7:]...), s.Conversations.History("!a")); diff != "" || s.Conversations.Session("!a") != "" {
			t.Errorf("session %q: %s", s.Conversations.Session("!a"), diff)
		}
	}
	must(t, s.Conversations.SetSession(ctx, "!c", "s1"))
	must(t, s.Conversations.Compact(ctx, "!c", "s1", summary, 3))
	if diff := cmp.Diff([]Turn{summary}, s.Conversations.History("!c")); diff != "" {
		t.Error(diff)
	}
}
