package task

import (
	"context"
	"testing"
)

// An interrupt cancels the contexts from within each time it is raised, and no others.
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
		t.Error("still raised after rearm")
	}
	cancel()
	<-second.Done()
	if stop.now.Err() != nil {
		t.Error("raised by the end of a context")
	}
}
