package budget

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

// Usage returns what a room has used of the model, for !usage.
func (b *Budget) Usage(ctx context.Context, room string, now time.Time) (string, error) {
	today, total, err := b.spent(ctx, room, now)
	if err != nil {
		return "", err
	}
	days, err := b.Journal.Budget.Days(ctx, room, usageDays)
	if err != nil {
		return "", err
	}
	return usageText(today, total, days, b.Limit(room)), nil
}

// UsageLine returns the same in one line, for !status.
func (b *Budget) UsageLine(ctx context.Context, room string, now time.Time) (string, error) {
	today, total, err := b.spent(ctx, room, now)
	return "Today (UTC): " + counted(today) + ". In total: " + counted(total) + ".", err
}

func (b *Budget) spent(ctx context.Context, room string, now time.Time) (today, total state.Spending, err error) {
	if today, err = b.Journal.Budget.On(ctx, room, now); err != nil {
		return today, total, err
	}
	total, err = b.Journal.Budget.Total(ctx, room)
	return today, total, err
}

// usageText formats what a room has used today, in total and on the newest days; limit is its tokens for a day, 0 for
// none.
func usageText(today, total state.Spending, days []state.Spending, limit int64) string {
	head := "Today (UTC): " + tokens(today)
	switch {
	case limit == 0:
		head += "; there is no limit"
	case today.Extra > 0:
		head += " of " + text.Thousands(limit+today.Extra) + ", " + text.Thousands(today.Extra) +
			" of them allowed today beyond the limit"
	default:
		head += " of " + text.Thousands(limit)
	}
	lines := []string{head + ".", "- " + counted(today), "", "In total: " + tokens(total) + ".", "- " + counted(total)}
	isToday := func(day state.Spending) bool { return day.Day.Equal(today.Day) }
	if earlier := slices.DeleteFunc(slices.Clone(days), isToday); len(earlier) > 0 {
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
	return fmt.Sprintf("%s tokens in (%s cached), %s out; %s, %s, %s",
		text.Thousands(s.Input), text.Thousands(s.Cached), text.Thousands(s.Output),
		text.Few(s.Runs, "run"), text.Few(s.Sessions, "session"), text.Few(s.Compactions, "compaction"))
}
