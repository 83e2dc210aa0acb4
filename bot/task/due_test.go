package task

import (
	"strings"
	"testing"
	"time"

	"matrix-tui/agent/gemini"
)

func TestDueText(t *testing.T) {
	now := time.Date(2026, 11, 26, 14, 30, 30, 0, time.Local)
	soon, tomorrow := now.Add(time.Minute+10*time.Second), now.Add(20*time.Hour)
	for _, c := range []struct {
		closure gemini.Closure
		want    string
	}{
		{gemini.Closure{Kind: gemini.Quota, Named: true, Until: soon}, "The model's quota is used up until 14:32; I'll continue then."},
		{gemini.Closure{Kind: gemini.Quota, Until: soon}, "The model's quota is used up; I'll try again at 14:32."},
		{gemini.Closure{Kind: gemini.Quota, PerDay: true, Named: true, Until: tomorrow}, "The model's daily quota is used up until Friday, 27 November, 10:31; I'll continue then."},
		{gemini.Closure{Kind: gemini.Quota, PerDay: true, Until: soon}, "The model's daily quota is used up; I'll try again at 14:32."},
		{gemini.Closure{Kind: gemini.Overload, Named: true, Until: soon}, "The model is overloaded; I'll try again at 14:32."},
		{gemini.Closure{Until: now.Add(-30 * time.Second)}, "The model takes no requests at the moment; I'll try again at 14:30."},
	} {
		if got := dueText(c.closure, now); got != c.want {
			t.Errorf("%+v: %q, want %q", c.closure, got, c.want)
		}
	}
	if got := impatient("It is closed.", gemini.Closure{Until: tomorrow}, time.Hour, now); !strings.Contains(got, "longer than 1 h (QUOTA_WAIT)") || !strings.HasSuffix(got, "after Friday, 27 November, 10:31.") {
		t.Error(got)
	}
	if got := impatient("It is closed.", gemini.Closure{Until: tomorrow}, 0, now); got != "It is closed. Send the task again after Friday, 27 November, 10:31." {
		t.Error(got)
	}
}
