package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A review's outcome holds for a while, unless it says nothing about the token.
func TestVerdictsAge(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		holds time.Duration
	}{
		"welcome": {nil, time.Minute},
		"refused": {refusal("no"), 5 * time.Second},
		"unknown": {ErrUnreachable, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			reviews := 0
			v := newVerdicts(func(context.Context, string) (string, error) { reviews++; return denRoom, c.err })
			ask := func(want int) {
				t.Helper()
				room, err := v.room(t.Context(), theToken)
				if !errors.Is(err, c.err) || err == nil && room != denRoom || reviews != want {
					t.Errorf("%s: %q, %v after %d reviews, want %d", name, room, err, reviews, want)
				}
			}
			ask(1)
			if c.holds > 0 {
				time.Sleep(c.holds - time.Nanosecond)
				ask(1)
			}
			time.Sleep(time.Nanosecond)
			ask(2)
		})
	}
}

// While the API server does not answer, a pod stays welcome for an hour, and one that was refused does not become it.
func TestVerdictsWhileAway(t *testing.T) {
	for name, c := range map[string]struct {
		first, later error
		welcome      bool
	}{
		"welcome, then away":    {nil, ErrUnreachable, true},
		"welcome, then slow":    {nil, context.DeadlineExceeded, true},
		"welcome, then refused": {nil, refusal("no"), false},
		"welcome, then unasked": {nil, errors.New("forbidden"), false},
		"refused, then away":    {refusal("no"), ErrUnreachable, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			answer, reviews := c.first, 0
			v := newVerdicts(func(context.Context, string) (string, error) { reviews++; return denRoom, answer })
			_, _ = v.room(t.Context(), theToken)
			answer = c.later
			time.Sleep(welcomeAge)
			for range 3 { // at once
				if room, err := v.room(t.Context(), theToken); (err == nil) != c.welcome || c.welcome && room != denRoom {
					t.Errorf("%s: %q, %v", name, room, err)
				}
			}
			if c.welcome && reviews != 2 {
				t.Errorf("%s: %d reviews, want one", name, reviews-1)
			}
			time.Sleep(awayAge - welcomeAge - time.Nanosecond)
			if _, err := v.room(t.Context(), theToken); (err == nil) != c.welcome {
				t.Errorf("%s: within the hour: %v", name, err)
			}
			time.Sleep(awayPause)
			if room, err := v.room(t.Context(), theToken); err == nil {
				t.Errorf("%s: after an hour: %q", name, room)
			}
		})
	}
}

// Connections that come at the same time with the same token wait for one review, and only so many are made at a time.
func TestVerdictsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, all atomic.Int64
		v := newVerdicts(func(ctx context.Context, token string) (string, error) {
			all.Add(1)
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Second)
			return token, nil
		})
		var asked sync.WaitGroup
		for i := range 400 {
			asked.Go(func() {
				token := fmt.Sprint(i % 40)
				if room, err := v.room(t.Context(), token); room != token || err != nil {
					t.Errorf("%s: %s, %v", token, room, err)
				}
			})
		}
		asked.Wait()
		if all.Load() != 40 || most.Load() != maxReviews {
			t.Errorf("%d reviews, %d at a time", all.Load(), most.Load())
		}
	})
}

// An API server that does not answer holds up nobody for longer than reviewTime.
func TestReviewEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVerdicts(func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		begun := time.Now()
		var asked sync.WaitGroup
		for i := range 3 * maxReviews {
			asked.Go(func() {
				if _, err := v.room(t.Context(), fmt.Sprint(i)); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		asked.Wait()
		if took := time.Since(begun); took != reviewTime {
			t.Errorf("%v", took)
		}
	})
}

// What is remembered has a limit, also while nothing of it is old.
func TestVerdictsBounded(t *testing.T) {
	v := newVerdicts(func(context.Context, string) (string, error) { return denRoom, nil })
	for i := range maxVerdicts + 1000 {
		if _, err := v.room(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(v.known) != maxVerdicts {
		t.Errorf("%d are kept", len(v.known))
	}
}
