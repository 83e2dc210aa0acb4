package schedule

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/clean"
)

const (
	shown    = 3   // times that a confirmation shows
	maxShown = 200 // bytes of a task in a list
)

// Confirmation says what was scheduled, and the next times.
func Confirmation(e state.Entry, zone *time.Location) string {
	return fmt.Sprintf("🗓 #%d: %s\n%s `!schedule %[1]d remove` removes it.", e.Number, about(e), times(e, shown, zone))
}

// removed says that an entry is gone.
func removed(e state.Entry) string { return fmt.Sprintf("🗓 #%d is removed: %s", e.Number, about(e)) }

// line is an entry in a list.
func line(e state.Entry, zone *time.Location) string {
	line := fmt.Sprintf("- #%d: %s: %s", e.Number, rule(e), about(e))
	switch {
	case e.Paused != "":
		line += " Paused: " + e.Paused
	case e.Next.IsZero():
		line += " It is never due again."
	default:
		line += " " + times(e, 1, zone)
	}
	if e.Missed != state.MissedOnce && e.When.At.IsZero() {
		line += " Missed runs: " + string(e.Missed) + "."
	}
	if e.Gate != "" {
		line += " Only if " + text.Code(clean.Line(e.Gate, maxShown)) + " succeeds."
	}
	return line
}

// about is the task of an entry in a line, as a sentence.
func about(e state.Entry) string {
	said := clean.Line(e.Text, maxShown)
	if strings.HasSuffix(said, ".") || strings.HasSuffix(said, "?") || strings.HasSuffix(said, "!") {
		return said
	}
	return said + "."
}

// rule says when an entry runs.
func rule(e state.Entry) string {
	switch w := e.When; {
	case w.Cron != "":
		return text.Code(w.Cron)
	case w.Every > 0:
		return "every " + text.Duration(w.Every)
	default:
		return "once"
	}
}

// times lists the next n times of an entry.
func times(e state.Entry, n int, zone *time.Location) string {
	var all []string
	for at := e.Next; !at.IsZero() && len(all) < n; at = Next(e.When, at, zone) {
		all = append(all, shownTime(at, e, zone))
	}
	if len(all) == 0 {
		return "It is never due again."
	}
	return "Next: " + strings.Join(all, ", ") + " (" + zone.String() + ")."
}

// shownTime shows a time of an entry, with its year if people would look for it in this one.
func shownTime(at time.Time, e state.Entry, zone *time.Location) string {
	layout := "Mon 2 Jan 15:04"
	if at.Sub(e.Created) > maxInterval/2 {
		layout = "Mon 2 Jan 2006 15:04"
	}
	return at.In(zone).Format(layout)
}

// Upcoming says which entry of a room is due next, or returns "".
func Upcoming(ctx context.Context, env *task.Env) (string, error) {
	all, err := env.Journal.Schedule.In(ctx, env.ID)
	all = slices.DeleteFunc(all, func(e state.Entry) bool { return e.Paused != "" || e.Next.IsZero() })
	if err != nil || len(all) == 0 {
		return "", err
	}
	e := slices.MinFunc(all, func(a, b state.Entry) int { return a.Next.Compare(b.Next) })
	return fmt.Sprintf("Next scheduled: #%d, %s.", e.Number, shownTime(e.Next, e, env.Rules().Zone)), nil
}

// skipped says that times have passed without a run, the first of which is e.Next.
func skipped(e state.Entry, missed int, zone *time.Location) string {
	return fmt.Sprintf("⏭ #%d: I skip %s, the first one due %s: %s", e.Number, text.Plural(missed, "missed run",
		"missed runs"), shownTime(e.Next, e, zone), about(e))
}

// Lost says that an entry is paused because whoever created it has lost the right to do so, and returns it as it is to
// be.
func Lost(e state.Entry, name, barred string) (said string, paused state.Entry) {
	e.Paused = name + ", who created it, may not schedule tasks here any more."
	if barred != "" {
		e.Paused = barred + "."
	}
	return fmt.Sprintf("⏸ #%d is paused: %s `!schedule %[1]d resume` continues it for you, `!schedule %[1]d remove` "+
		"removes it.", e.Number, e.Paused), e
}
