package bot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// usageDays is how many days !usage shows.
const usageDays = 7

// doUsage runs !usage.
func (r *room) doUsage(ctx context.Context, row state.Event, _ string) error {
	today, err := r.bot.Journal.Spent(ctx, r.id, time.Now())
	if err != nil {
		return err
	}
	days, err := r.bot.Journal.SpentDays(ctx, r.id, usageDays)
	if err != nil {
		return err
	}
	said := "Today (UTC): " + used(today)
	if limit := r.bot.tasks.TokenLimit(r.id); limit > 0 {
		said += " of " + text.Thousands(limit+today.Extra)
		if today.Extra > 0 {
			said += ", " + text.Thousands(today.Extra) + " of them allowed today beyond the limit"
		}
	} else {
		said += "; there is no limit"
	}
	lines := []string{said + "."}
	for _, day := range days {
		if !day.Day.Equal(today.Day) {
			lines = append(lines, "- "+day.Day.Format(time.DateOnly)+": "+used(day))
		}
	}
	return r.tell(ctx, row, strings.Join(lines, "\n"))
}

func used(s state.Spending) string {
	return fmt.Sprintf("%s, %s tokens", text.Plural(int(s.Requests), "request", "requests"), text.Thousands(s.Tokens()))
}
