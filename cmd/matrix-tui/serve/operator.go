package serve

import (
	"context"

	"matrix-tui/bot"
	"matrix-tui/cmd/matrix-tui/doctor"
	"matrix-tui/cmd/matrix-tui/settings"
)

// checksOf returns what doctor finds out about a running bot, for the operator's page.
func checksOf(cfg *settings.Config) func(context.Context) []bot.Check {
	return func(ctx context.Context) (checks []bot.Check) {
		for _, f := range doctor.Report(ctx, cfg) {
			checks = append(checks, bot.Check{Word: f.Word(), Text: f.Text})
		}
		return checks
	}
}
