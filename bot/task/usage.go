package task

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// usageDays is how many days Usage shows.
const usageDays = 7

// Usage returns what the room has used of the model, for !usage.
func (e *Env) Usage(ctx context.Context, now time.Time) (string, error) {
	today, total, err := e.spent(ctx, now)
	if err != nil {
		return "", err
	}
	days, err := e.Journal.Budget.Days(ctx, e.ID, usageDays)
	if err != nil {
		return "", err
	}
	return usageText(today, total, days, e.TokenLimit(e.ID)), nil
}

// UsageLine returns the same in one line, for !status.
func (e *Env) UsageLine(ctx context.Context, now time.Time) (string, error) {
	today, total, err := e.spent(ctx, now)
	return "Today (UTC): " + counted(today) + ". In total: " + counted(total) + ".", err
}

func (e *Env) spent(ctx context.Context, now time.Time) (today, total state.Spending, err error) {
	if today, err = e.Journal.Budget.On(ctx, e.ID, now); err != nil {
		return today, total, err
	}
	total, err = e.Journal.Budget.Total(ctx, e.ID)
	return today, total, err
}

// usageText formats what a room has used today, in total and on the newest days; limit is its tokens for a day, 0 for none.
func usageText(today, total state.Spending, days []state.Spending, limit int64) string {
	head := "Today (UTC): " + tokens(today)
	switch {
	case limit == 0:
		head += "; there is no limit"
	case today.Extra > 0:
		head += " of " + text.Thousands(limit+today.Extra) + ", " + text.Thousands(today.Extra) + " of them allowed today beyond the limit"
	default:
		head += " of " + text.Thousands(limit)
	}
	lines := []string{head + ".", "- " + counted(today), "", "In total: " + tokens(total) + ".", "- " + counted(total)}
	if earlier := slices.DeleteFunc(slices.Clone(days), func(day state.Spending) bool { return day.Day.Equal(today.Day) }); len(earlier) > 0 {
		lines = append(lines, "", "Earlier days:")
		for _, day := range earlier {
			lines = append(lines, "- "+day.Day.Format(time.DateOnly)+": "+tokens(day))
		}
	}
	return strings.Join(lines, "\n")
}

func tokens(s state.Spending) string {
	return fmt.Sprintf("%s, %s tokens", text.Plural(int(s.Requests), "request", "requests"), text.Thousands(s.Tokens()))
}

// counted returns all that is counted but the requests.
func counted(s state.Spending) string {
	return fmt.Sprintf("%s tokens in (%s cached), %s out; %s, %s, %s", text.Thousands(s.Input), text.Thousands(s.Cached), text.Thousands(s.Output),
		few(s.Runs, "run"), few(s.Sessions, "session"), few(s.Compactions, "compaction"))
}

// few writes a number within a sentence: "no run", "1 run", "2 runs".
func few(n int64, word string) string { return strings.ToLower(text.Plural(int(n), word, word+"s")) }
