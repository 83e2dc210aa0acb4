package bot

import (
	"testing"
	"time"

	"matrix-tui/state"
)

// A browser shows the same code for a while, then another one, and no other browser shows it.
func TestPageCode(t *testing.T) {
	at := time.Unix(0, 0).Add(1000 * codeTime)
	code := pageCode("key", "browser", at)
	if len(code) != 8 || pageCode("key", "browser", at.Add(codeTime-time.Second)) != code {
		t.Errorf("the code is %q, and another one before its time is over", code)
	}
	for name, other := range map[string]string{
		"later": pageCode("key", "browser", at.Add(codeTime)), "another browser": pageCode("key", "other", at),
		"another bot": pageCode("other", "browser", at),
	} {
		if other == code {
			t.Errorf("%s: the same code", name)
		}
	}
}

func TestChart(t *testing.T) {
	now := time.Date(2026, 3, 30, 15, 0, 0, 0, time.UTC)
	days := chart([]state.Spending{{Day: now.Truncate(24 * time.Hour), Input: 5, Output: 2},
		{Day: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Input: 3}, {Day: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), Input: 9}}, now)
	var sum int64
	for _, d := range days {
		sum += d.Tokens
	}
	if len(days) != 30 || days[0].Tokens != 3 || days[29].Tokens != 7 || sum != 10 {
		t.Errorf("%+v", days)
	}
}
