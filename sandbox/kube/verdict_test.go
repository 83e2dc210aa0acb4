package kube

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
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
				room, err := v.room(t.Context(), podAddress, theToken)
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
			_, _ = v.room(t.Context(), podAddress, theToken)
			answer = c.later
			time.Sleep(welcomeAge)
			for range 3 { // at once
				if room, err := v.room(t.Context(), podAddress, theToken); (err == nil) != c.welcome || c.welcome && room != denRoom {
					t.Errorf("%s: %q, %v", name, room, err)
				}
			}
			if c.welcome && reviews != 2 {
				t.Errorf("%s: %d reviews, want one", name, reviews-1)
			}
			time.Sleep(awayAge - welcomeAge - time.Nanosecond)
			if _, err := v.room(t.Context(), podAddress, theToken); (err == nil) != c.welcome {
				t.Errorf("%s: within the hour: %v", name, err)
			}
			time.Sleep(awayPause)
			if room, err := v.room(t.Context(), podAddress, theToken); err == nil {
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
				token, from := fmt.Sprint(i%40), netip.AddrFrom4([4]byte{10, 0, 0, byte(i % 40)})
				if room, err := v.room(t.Context(), from, token); room != token || err != nil {
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
				from := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
				if _, err := v.room(t.Context(), from, fmt.Sprint(i)); !errors.Is(err, context.DeadlineExceeded) {
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

// An address that shows more and more unknown tokens is not heard for a while, and no other one notices. What is known
// of its pods still counts, and a genuine new token is not refused, but waits.
func TestVerdictsOfOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reviews, other := 0, netip.MustParseAddr("10.42.0.8")
		v := newVerdicts(func(_ context.Context, token string) (string, error) {
			if reviews++; token[0] == '!' {
				return token, nil
			}
			return "", refusal("no")
		})
		ask := func(from netip.Addr, token string) error { _, err := v.room(t.Context(), from, token); return err }
		expect := func(what string, err, want error, more int) {
			t.Helper()
			if !errors.Is(err, want) || reviews != more {
				t.Errorf("%s: %v after %d reviews, want %v after %d", what, err, reviews, want, more)
			}
			reviews = 0
		}
		expect("first", ask(podAddress, "!first"), nil, 1)
		for i := range 1000 {
			_ = ask(podAddress, fmt.Sprint("wrong", i))
		}
		expect("a rotated token", ask(podAddress, "!second"), errUnknown, maxUnknown)
		expect("the old one", ask(podAddress, "!first"), nil, 0)
		expect("the refused one", ask(podAddress, "wrong0"), refusal("no"), 0)
		expect("another address", ask(other, "!third"), nil, 1)
		expect("another address is refused", ask(other, "wrong"), refusal("no"), 1)
		time.Sleep(welcomeAge)
		expect("a minute later", ask(podAddress, "!second"), nil, 1)
		expect("the old one again", ask(podAddress, "!first"), nil, 1)

		// Tokens that the cluster has refused are asked about ever more seldom.
		for end := time.Now().Add(time.Hour); time.Now().Before(end); time.Sleep(time.Second) {
			_ = ask(podAddress, "wrong0")
		}
		if reviews > 12 {
			t.Errorf("%d reviews of one token in an hour", reviews)
		}
	})
}

// An address does not take all the turns while reviews take long.
func TestVerdictsAreSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVerdicts(func(ctx context.Context, token string) (string, error) {
			if token[0] != '!' {
				<-ctx.Done()
			}
			return token, ctx.Err()
		})
		var asked sync.WaitGroup
		for i := range 10 * maxReviews {
			asked.Go(func() { _, _ = v.room(t.Context(), podAddress, fmt.Sprint(i)) })
		}
		synctest.Wait()
		begun := time.Now()
		if _, err := v.room(t.Context(), netip.MustParseAddr("10.42.0.8"), "!"); err != nil || time.Since(begun) > 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		asked.Wait()
		if _, err := v.room(t.Context(), podAddress, "!"); err != nil {
			t.Errorf("what failed counts: %v", err)
		}
	})
}

// Refusals do not push out what counts while the API server does not answer.
func TestVerdictsKeepWelcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := error(nil)
		v := newVerdicts(func(context.Context, string) (string, error) { return denRoom, answer })
		ask := func(i int, token string) error {
			_, err := v.room(t.Context(), netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), token)
			return err
		}
		for i := range 100 {
			_ = ask(i, fmt.Sprint("pod", i))
		}
		answer = refusal("no")
		for i := range 3 * maxVerdicts {
			if i == 3*maxVerdicts/2 { // now all are old
				time.Sleep(2 * welcomeAge)
			}
			if ask(i, fmt.Sprint("wrong", i)) == nil {
				t.Fatal("it is welcome")
			}
		}
		answer = ErrUnreachable
		for i := range 100 {
			if err := ask(i, fmt.Sprint("pod", i)); err != nil {
				t.Fatalf("pod %d: %v", i, err)
			}
		}
		if len(v.known) > maxVerdicts {
			t.Errorf("%d are kept", len(v.known))
		}
	})
}

var podAddress = netip.MustParseAddr("10.42.0.7")

// What is remembered has a limit, also while nothing of it is old.
func TestVerdictsBounded(t *testing.T) {
	v := newVerdicts(func(context.Context, string) (string, error) { return denRoom, nil })
	for i := range maxVerdicts + 1000 {
		if _, err := v.room(t.Context(), podAddress, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(v.known) != maxVerdicts {
		t.Errorf("%d are kept", len(v.known))
	}
}
