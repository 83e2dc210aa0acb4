package capacity

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(2)
		if err := s.Acquire(t.Context(), false); err != nil || !s.TryAcquire() || s.TryAcquire() {
			t.Fatal("there are not two slots", err)
		}
		var got []string
		wait := func(ctx context.Context, name string, ready bool) {
			go func() {
				if err := s.Acquire(ctx, ready); err != nil {
					name = "not " + name
				}
				got = append(got, name)
			}()
			synctest.Wait()
		}
		leaving, leave := context.WithCancel(t.Context())
		wait(t.Context(), "cold 1", false)
		wait(leaving, "cold 2", false)
		wait(t.Context(), "ready 1", true)
		wait(t.Context(), "cold 3", false)
		wait(t.Context(), "ready 2", true)
		leave()
		synctest.Wait()
		for range 4 {
			s.Release()
			synctest.Wait()
		}
		if diff := cmp.Diff([]string{"not cold 2", "ready 1", "ready 2", "cold 1", "cold 3"}, got); diff != "" {
			t.Error(diff)
		}
		s.Release()
		s.Release()
		if s.free != 2 {
			t.Errorf("%d slots are free at the end, want 2", s.free)
		}
	})
}

// A task that is given a slot in the moment in which it stops waiting passes it on.
func TestSlotGivenTooLate(t *testing.T) {
	for range 500 {
		s := NewSlots(0)
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		go func() { result <- s.Acquire(ctx, false) }()
		go cancel()
		s.Release()
		err := <-result
		if err == nil {
			s.Release()
		} else if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if !s.TryAcquire() {
			t.Fatal("the slot is lost")
		}
	}
}
