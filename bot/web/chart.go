package web

import (
	"time"

	"matrix-tui/bot"
	"matrix-tui/bot/text"
)

// chart is the tokens of some days as bars in a picture of 300 by 60.
type chart struct {
	Most int64 // tokens of one day
	Bars []bar
}

type bar struct {
	X, Y, Height int
	Title        string
}

// chartOf returns the chart of days, or nil if nothing was used. A day on which something was used has a bar.
func chartOf(days []bot.Day) *chart {
	const height = 60
	c := &chart{}
	for _, d := range days {
		c.Most = max(c.Most, d.Tokens)
	}
	if c.Most == 0 {
		return nil
	}
	for i, d := range days {
		if d.Tokens > 0 {
			h := max(1, int(d.Tokens*height/c.Most))
			c.Bars = append(c.Bars, bar{i * 10, height - h, h,
				d.Date.Format(time.DateOnly) + ": " + text.Thousands(d.Tokens) + " tokens"})
		}
	}
	return c
}
