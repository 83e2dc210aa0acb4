package budget

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state"
)

func TestUsageText(t *testing.T) {
	noon := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	today := state.Spending{Day: noon, Requests: 2, Input: 12_000, Cached: 9000, Output: 34, Runs: 1, Sessions: 1, Extra: 500}
	before := state.Spending{Day: noon.AddDate(0, 0, -1), Requests: 1, Input: 5, Compactions: 1}
	total := state.Spending{Requests: 30, Input: 1_000_000, Output: 40, Runs: 7, Sessions: 2, Compactions: 1}
	for _, c := range []struct {
		name         string
		today, total state.Spending
		days         []state.Spending
		limit        int64
		want         string
	}{
		{"nothing", state.Spending{Day: noon}, state.Spending{}, nil, 0,
			"Today (UTC): No request, 0 tokens; there is no limit.\n- 0 tokens in (0 cached), 0 out; no run, no session, no compaction\n\n" +
				"In total: No request, 0 tokens.\n- 0 tokens in (0 cached), 0 out; no run, no session, no compaction"},
		{"everything", today, total, []state.Spending{today, before}, 1000,
			"Today (UTC): 2 requests, 12,034 tokens of 1,500, 500 of them allowed today beyond the limit.\n- 12,000 tokens in (9,000 cached), 34 out; 1 run, 1 session, no compaction\n\n" +
				"In total: 30 requests, 1,000,040 tokens.\n- 1,000,000 tokens in (0 cached), 40 out; 7 runs, 2 sessions, 1 compaction\n\n" +
				"Earlier days:\n- 2026-03-01: 1 request, 5 tokens"},
	} {
		if diff := cmp.Diff(c.want, usageText(c.today, c.total, c.days, c.limit)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
