package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSpans(t *testing.T) {
	now := day(time.May, 20)
	for query, want := range map[string]string{
		"What happened on 14 March 2026?":            "2026-3-14",
		"on March 14th, 2026":                        "2026-3-14",
		"backup of 2026-03-14":                       "2026-3-14",
		"am 14.03.2026":                              "2026-3-14",
		"on 3 July":                                  "0-7-3",
		"on the 3rd of July":                         "0-7-3",
		"during September 2023":                      "2023-9-0",
		"in May":                                     "0-5-0",
		"May I deploy? We march on. It may fail":     "",
		"what did we do yesterday":                   "2026-05-19",
		"last week":                                  "2026-05-07",
		"10.0.0.1 and 1.2.3 and 99 May 9999999 days": "",
		"between 1 June and 2 August 2025":           "0-6-1 2025-8-2",
	} {
		var got []string
		for _, s := range spans(query, now) {
			if !s.from.IsZero() {
				got = append(got, s.from.Format(time.DateOnly))
			} else {
				got = append(got, fmt.Sprintf("%d-%d-%d", s.year, s.month, s.day))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	date := span{year: 2026, month: time.March, day: 14}
	month := span{month: time.March}
	for _, tt := range []struct {
		s    span
		at   time.Time
		want float64
	}{
		{date, day(3, 14), 1}, {date, day(3, 13), 0}, {date, day(3, 29), 0}, {date, time.Time{}, 0},
		{month, day(3, 30), 0.5}, {month, day(4, 5), 0.25}, {month, day(4, 15), 0}, {month, day(2, 1), 0},
		{span{year: 2025, month: time.March}, day(3, 1), 0},
	} {
		if got := tt.s.fit(tt.at); got != tt.want {
			t.Errorf("%+v at %v: %v, want %v", tt.s, tt.at, got, tt.want)
		}
	}
}
