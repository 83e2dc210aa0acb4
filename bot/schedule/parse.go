package schedule

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/adhocore/gronx"

	"matrix-tui/state"
)

const (
	// MinInterval is the shortest time between two runs of an entry.
	MinInterval = 5 * time.Minute
	maxInterval = 366 * 24 * time.Hour
	maxCron     = 100 // bytes
)

// Cron reads a cron expression: minute, hour, day of the month, month and day of the week. Its error is a [Refused].
func Cron(text string, now time.Time, zone *time.Location) (w state.When, err error) {
	w.Cron = strings.Join(strings.Fields(text), " ")
	if len(w.Cron) > maxCron || strings.Count(w.Cron, " ") != 4 || !gronx.IsValid(w.Cron) {
		return w, refuse("%q is not a cron expression: write minute, hour, day of the month, month and day of the week, "+
			"such as 0 8 * * 1-5", w.Cron)
	}
	first := Next(w, now, zone)
	if first.IsZero() {
		return w, refuse("%q is never due", w.Cron)
	}
	for at, n := first, 0; n < 60; n++ { // an hour of a run per minute
		next := Next(w, at, zone)
		if next.IsZero() {
			break
		}
		if next.Sub(at) < MinInterval {
			return w, errOften
		}
		at = next
	}
	return w, nil
}

var errOften = refuse("that is too often: an entry may run at most once every %d minutes", int(MinInterval.Minutes()))

// Every reads an interval, such as 90m, 2h or 1 day, that begins now. Its error is a [Refused].
func Every(text string, now time.Time) (w state.When, err error) {
	w.From = now.UTC()
	w.Every, err = interval(text)
	switch {
	case err != nil:
		return w, err
	case w.Every < MinInterval:
		return w, errOften
	}
	return w, nil
}

// In reads how long it takes until a single run, such as 20m. Its error is a [Refused].
func In(text string, now time.Time) (state.When, error) {
	wait, err := interval(text)
	return state.When{At: now.Add(wait).Truncate(time.Second)}, err
}

// At reads the time of a single run: 14:30, 2026-12-01 14:30 or, with a zone, 2026-12-01T14:30:00Z. Its error is a
// sentence.
func At(text string, now time.Time, zone *time.Location) (w state.When, err error) {
	now = now.In(zone)
	if day, at, ok := strings.Cut(strings.ToLower(text), " "); ok && day == "tomorrow" {
		text = now.AddDate(0, 0, 1).Format(time.DateOnly) + " " + at
	}
	if w.At, err = time.Parse(time.RFC3339, text); err != nil {
		for _, layout := range []string{"15:04", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02T15:04:05"} {
			wall, wrong := time.Parse(layout, text)
			if wrong != nil {
				continue
			}
			if err = nil; layout == "15:04" {
				wall = time.Date(now.Year(), now.Month(), now.Day(), wall.Hour(), wall.Minute(), 0, 0, time.UTC)
				if !moment(wall, zone).After(now) {
					wall = wall.AddDate(0, 0, 1)
				}
			}
			w.At = moment(wall, zone)
			break
		}
	}
	switch {
	case err != nil:
		return w, refuse("%q is not a time: write 14:30, tomorrow 8:00 or %s", text,
			now.AddDate(0, 0, 1).Format("2006-01-02 15:04"))
	case !w.At.After(now):
		return w, refuse("%s has passed: it is %s here", text, now.Format("2006-01-02 15:04"))
	case w.At.Sub(now) > maxInterval:
		return w, refuse("%s is more than a year away", text)
	}
	return w, nil
}

// units are the names of lengths of time.
var units = map[string]time.Duration{"s": time.Second, "sec": time.Second, "second": time.Second, "m": time.Minute,
	"min": time.Minute, "minute": time.Minute, "h": time.Hour, "hour": time.Hour, "d": 24 * time.Hour,
	"day": 24 * time.Hour, "w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour}

// interval reads a length of time: 20m, 1h30m, 20 minutes, day.
func interval(text string) (time.Duration, error) {
	text = strings.ToLower(strings.Join(strings.Fields(text), ""))
	d, err := time.ParseDuration(text)
	if err != nil {
		number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
		unit, known := units[text[len(number):]]
		if !known {
			unit = units[strings.TrimSuffix(text[len(number):], "s")]
		}
		if n, wrong := strconv.Atoi(cmp.Or(number, "1")); wrong == nil && unit > 0 && n < 100_000 {
			d, err = time.Duration(n)*unit, nil
		}
	}
	switch {
	case text == "":
		return 0, refuse("say how long: 20m, 2h or 1d")
	case err != nil || d < time.Second || d > maxInterval:
		return 0, refuse("%q is not a length of time up to a year: write 20m, 2h or 1d", text)
	}
	return d, nil
}

// Refused says, in a sentence without its full stop, what is wrong with an entry.
type Refused string

func (r Refused) Error() string { return string(r) }

func refuse(format string, args ...any) error { return Refused(fmt.Sprintf(format, args...)) }

// When reads when an entry is due from exactly one of four texts. Its error is a [Refused].
func When(cron, every, in, at string, now time.Time, zone *time.Location) (w state.When, err error) {
	given := 0
	for _, text := range []string{cron, every, in, at} {
		if text != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return w, refuse("give exactly one of cron, every, in and at")
	case cron != "":
		return Cron(cron, now, zone)
	case every != "":
		return Every(every, now)
	case in != "":
		return In(in, now)
	}
	return At(at, now, zone)
}

// parse reads when an entry is due from the words of a command, and returns the words after it.
func parse(how, said string, now time.Time, zone *time.Location) (w state.When, rest string, err error) {
	words := strings.Fields(said)
	take := func(n int) string {
		n = min(n, len(words))
		first := strings.TrimSuffix(strings.Join(words[:n], " "), ",")
		words = words[n:]
		for range n { // the rest keeps its lines
			_, said = cut(said)
		}
		return first
	}
	length := func() string { // 20m, or 20 minutes
		if _, err := strconv.Atoi(cmp.Or(append(words, "")[0], "no")); err == nil {
			return take(2)
		}
		return take(1)
	}
	switch strings.ToLower(how) {
	case "cron":
		w, err = Cron(take(5), now, zone)
	case "every":
		w, err = Every(length(), now)
	case "in":
		w, err = In(length(), now)
	case "at":
		first := take(1)
		if _, wrong := time.Parse(time.DateOnly, first); wrong == nil || strings.EqualFold(first, "tomorrow") {
			first += " " + take(1)
		}
		w, err = At(first, now, zone)
	default:
		err = refuse("I do not understand %q. %s", how, usage)
	}
	return w, said, err
}

// cut returns the first word of a text and the rest.
func cut(said string) (word, rest string) {
	said = strings.TrimSpace(said)
	if end := strings.IndexFunc(said, unicode.IsSpace); end >= 0 {
		return said[:end], strings.TrimSpace(said[end:])
	}
	return said, ""
}
