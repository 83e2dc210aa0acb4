package state

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSpending(t *testing.T) {
	j := newJournal(t)
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	late := day.Add(24*time.Hour - time.Second)
	must(t, j.Spend(ctx, "!a", Spending{Day: day, Requests: 1, Input: 10, Output: 2}))
	must(t, j.Spend(ctx, "!a", Spending{Day: late, Requests: 1, Input: 5, Extra: 100}))
	must(t, j.Spend(ctx, "!b", Spending{Day: day, Input: 7}))
	must(t, j.Spend(ctx, "!a", Spending{Day: late.Add(time.Second), Requests: 1, Input: 1}))
	first := Spending{Day: day, Requests: 2, Input: 15, Output: 2, Extra: 100}
	next := Spending{Day: day.AddDate(0, 0, 1), Requests: 1, Input: 1}
	for at, want := range map[time.Time]Spending{
		day: first, late: first, next.Day: next, day.AddDate(0, 0, 9): {Day: day.AddDate(0, 0, 9)}, day.AddDate(0, 0, -1): {Day: day.AddDate(0, 0, -1)},
	} {
		got, err := j.Spent(ctx, "!a", at)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", at, diff)
		}
	}
	got, err := j.SpentDays(ctx, "!a", 5)
	must(t, err)
	if diff := cmp.Diff([]Spending{next, first}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := j.Purge(ctx, late.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	got, err = j.SpentDays(ctx, "!a", 5)
	must(t, err)
	if diff := cmp.Diff([]Spending{next}, got); diff != "" {
		t.Errorf("after a purge: %s", diff)
	}
}
