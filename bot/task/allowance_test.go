package task

import "testing"

// The question asks "Continue?", so that this word is a yes.
func TestAllowsMore(t *testing.T) {
	for _, yes := range []string{"1", "1. Yes, use up to 100,000 more today", "1️⃣", "yes", "Yes, please", "ok", "👍", "continue", "Continue!", "please continue", "continue, please", "go on", "Go on.", "Go ahead, please!"} {
		if !allowsMore(yes) {
			t.Errorf("%q stops the task", yes)
		}
	}
	for _, no := range []string{"", "2", "2. No, stop here", "no", "stop", "don't continue", "continue tomorrow", "do not go on", "why?", "please"} {
		if allowsMore(no) {
			t.Errorf("%q uses more tokens", no)
		}
	}
}
