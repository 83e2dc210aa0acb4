package task

import (
	"context"
	"testing"
)

// An interrupt ends what is done within it, each time it is raised, and nothing else.
func TestInterrupt(t *testing.T) {
	stop := &interrupt{life: t.Context()}
	stop.rearm()
	first, done := stop.within(t.Context())
	defer done()
	stop.raise()
	stop.raise()
	<-first.Done()
	late, done := stop.within(t.Context())
	defer done()
	<-late.Done()

	stop.rearm()
	ctx, cancel := context.WithCancel(t.Context())
	second, done := stop.within(ctx)
	defer done()
	if second.Err() != nil || stop.now.Err() != nil {
		t.Error("raised before it was")
	}
	cancel()
	<-second.Done()
	if stop.now.Err() != nil {
		t.Error("raised by what was done within it")
	}
}
