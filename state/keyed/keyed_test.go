package keyed

import (
	"context"
	"errors"
	"testing"
)

// Nothing is kept for a key that is not locked, also if somebody has given up waiting for it.
func TestLocksForget(t *testing.T) {
	var k Locks
	unlock, err := k.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Lock(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	other, err := k.Lock(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	other()
	unlock()
	if len(k.locks) != 0 {
		t.Errorf("%d locks are left", len(k.locks))
	}
}
