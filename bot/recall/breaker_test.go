package recall

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBreaker(t *testing.T) {
	var b breaker
	now := noon
	var got []time.Duration
	fail := func(n int) {
		for range n {
			if !b.on(now) {
				t.Error("off")
			}
			if off := b.done(now, errors.New("down")); off > 0 {
				got = append(got, off)
				if b.on(now) || b.on(now.Add(off-1)) {
					t.Error("it is on while it should be off")
				}
				now = now.Add(off)
			}
		}
	}
	fail(2)
	b.done(now, nil)
	fail(2)
	if len(got) > 0 {
		t.Errorf("it went off after two failures")
	}
	fail(10)
	if diff := cmp.Diff([]time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour, time.Hour, time.Hour}, got); diff != "" {
		t.Error(diff)
	}
	b.done(now, nil)
	got = nil
	fail(3)
	if diff := cmp.Diff([]time.Duration{time.Minute}, got); diff != "" {
		t.Error(diff)
	}
}
