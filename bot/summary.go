package bot

import (
	"fmt"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
)

// summary is the notice at the end.
func summary(begun time.Time, out agent.Outcome) string {
	head := "✅ Done in "
	if out.Ended != agent.Completed {
		head = "❌ Ended after "
	}
	cost := used{}.with(begun, out)
	return head + strings.Join(append([]string{text.Duration(cost.Time)}, cost.words()...), " · ")
}

// summary is the notice at the end, with how many steps of the run failed.
func (t *task) summary(out agent.Outcome) string {
	text := summary(t.rec.Begun, out)
	if t.shown == nil {
		return text
	}
	switch n := t.shown.failed(); n {
	case 0:
		return text
	case 1:
		return text + " · 1 step failed"
	default:
		return text + fmt.Sprintf(" · %d steps failed", n)
	}
}

// words are the steps and tokens, where there are any.
func (u used) words() (words []string) {
	if u.Steps == 1 {
		words = append(words, "1 step")
	} else if u.Steps > 1 {
		words = append(words, fmt.Sprintf("%d steps", u.Steps))
	}
	if u.Tokens > 0 {
		words = append(words, text.Thousands(u.Tokens)+" tokens")
	}
	return words
}
