package memory

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// span is when something was said or happened, as far as a query says it: a zero Year, Month or Day is open.
type span struct {
	year     int
	month    time.Month
	day      int
	from, to time.Time // instead, for "last week"
}

var months = func() map[string]time.Month {
	out := map[string]time.Month{"sept": 9, "januar": 1, "februar": 2, "marz": 3, "maerz": 3, "mai": 5, "juni": 6,
		"juli": 7, "oktober": 10, "dezember": 12}
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		out[name], out[name[:3]] = m, m
	}
	return out
}()

// dateReader finds dates in a sequence of words: 2026-03-14, 14 March 2026, March 14th, 2026, 14.03.2026.
type dateReader struct{ last [3]string }

// day returns the name under which a date is indexed, if the words that it has seen end with one.
func (r *dateReader) day(word string) (name string, ok bool) {
	r.last = [3]string{r.last[1], r.last[2], word}
	if word[0] > '9' || word[0] < '0' {
		return "", false
	}
	s, ok := fullDate(r.last[0], r.last[1], r.last[2])
	return fmt.Sprintf("d%04d%02d%02d", s.year, s.month, s.day), ok
}

// fullDate reads a date of three words.
func fullDate(a, b, c string) (span, bool) {
	switch {
	case len(a) == 4 && isNumber(b) && isNumber(c): // 2026 03 14
		return dateOf(yearOf(a), time.Month(number(b)), number(c))
	case len(c) != 4:
		return span{}, false
	case isNumber(a) && isNumber(b): // 14 03 2026
		return dateOf(yearOf(c), time.Month(number(b)), number(a))
	case months[b] != 0: // 14 March 2026
		return dateOf(yearOf(c), months[b], dayOf(a))
	case months[a] != 0: // March 14 2026
		return dateOf(yearOf(c), months[a], dayOf(b))
	}
	return span{}, false
}

func dateOf(year int, month time.Month, day int) (span, bool) {
	ok := year > 0 && month >= 1 && month <= 12 && day >= 1 && day <= 31
	return span{year: year, month: month, day: day}, ok
}

func isNumber(word string) bool { return len(word) > 0 && len(word) <= 2 && number(word) > 0 }

func number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func yearOf(word string) int {
	if n := number(word); len(word) == 4 && n >= 1970 && n <= 2199 {
		return n
	}
	return 0
}

// dayOf reads 14 and 14th.
func dayOf(word string) int {
	if n := len(word); n > 2 {
		switch word[n-2:] {
		case "st", "nd", "rd", "th":
			word = word[:n-2]
		}
	}
	if n := number(word); n <= 31 && len(word) <= 2 {
		return n
	}
	return 0
}

// beforeMonth are words after which "may" or "march" is a month.
var beforeMonth = set("in of during late early mid since until before after by around last next this end on im seit ab")

// spans finds the times that a query names; now is what "yesterday" counts from.
func spans(text string, now time.Time) []span {
	var all []string
	words(text, func(word string) { all = append(all, word) })
	at := func(i int) string {
		if i < 0 || i >= len(all) {
			return ""
		}
		return all[i]
	}
	var out []span
	for i := 0; i < len(all); i++ {
		if s, ok := fullDate(all[i], at(i+1), at(i+2)); ok {
			out, i = append(out, s), i+2
			continue
		}
		if s, used := monthAt(all, i, at); used > 0 {
			out, i = append(out, s), i+used-1
			continue
		}
		if s, ok := relative(all[i], at(i+1), now); ok {
			out = append(out, s)
		}
	}
	return out
}

// monthAt reads "14 March", "March 14", "March 2026" and "in March", and returns how many words that takes.
func monthAt(all []string, i int, at func(int) string) (span, int) {
	if month := months[at(i+1)]; month != 0 && isDigit(all[i]) && dayOf(all[i]) > 0 {
		return span{month: month, day: dayOf(all[i])}, 2
	}
	if month := months[at(i+2)]; month != 0 && at(i+1) == "of" && dayOf(all[i]) > 0 { // 14th of March
		return span{month: month, day: dayOf(all[i]), year: yearOf(at(i + 3))}, 3
	}
	month := months[all[i]]
	switch {
	case month == 0:
		return span{}, 0
	case yearOf(at(i+1)) > 0:
		return span{month: month, year: yearOf(at(i + 1))}, 2
	case isDigit(at(i+1)) && dayOf(at(i+1)) > 0:
		return span{month: month, day: dayOf(at(i + 1))}, 2
	case beforeMonth[at(i-1)] || len(all[i]) > 5:
		return span{month: month}, 1
	}
	return span{}, 0
}

func isDigit(word string) bool { return word != "" && word[0] >= '0' && word[0] <= '9' }

// relative reads "yesterday", "last week" and the like.
func relative(word, next string, now time.Time) (span, bool) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	days := func(from, to int) (span, bool) {
		return span{from: today.AddDate(0, 0, from), to: today.AddDate(0, 0, to+1)}, true
	}
	switch {
	case word == "today" || word == "heute":
		return days(0, 0)
	case word == "yesterday" || word == "gestern":
		return days(-1, -1)
	case word == "last" && next == "week":
		return days(-13, -5)
	case word == "this" && next == "week":
		return days(-6, 0)
	case word == "last" && next == "month":
		return days(-62, -28)
	}
	return span{}, false
}

// fit says how well a time fits, from 0 to 1. What is said of a day is often said in the two weeks after it.
func (s span) fit(t time.Time) float64 {
	const later = 14
	switch {
	case t.IsZero():
		return 0
	case !s.from.IsZero():
		if !t.Before(s.from) && t.Before(s.to) {
			return 0.5
		}
		return 0
	case s.year != 0 && s.year != t.Year() && s.day == 0 && !(s.month == time.December && t.Month() == time.January &&
		t.Year() == s.year+1):
		return 0
	case s.day != 0:
		year := s.year
		if year == 0 {
			year = t.Year()
		}
		days := t.Sub(time.Date(year, s.month, s.day, 0, 0, 0, 0, t.Location())).Hours() / 24
		if days < 0 || days > later {
			return 0
		}
		return 1 - float64(int(days))/(later+1)
	case t.Month() == s.month:
		return 0.5
	case (t.Month()-s.month+12)%12 == 1 && t.Day() <= 10:
		return 0.25
	}
	return 0
}
