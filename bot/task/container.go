package task

import (
	"context"
	"errors"
	"strings"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

// podmanTime is how long a task that has not started waits for podman's service.
const podmanTime = 5 * time.Minute

// ensure starts the room's container. If podman's service is unreachable, it retries for
// podmanTime, or until the deadline of a run that has started.
func (a *attempt) ensure(ctx context.Context, started bool) (*sandbox.Container, error) {
	rec := &a.task.rec
	fresh := !started && rec.Tries <= 1 && (rec.Approved == nil || rec.Approved.Over) // never replace it within a task
	until := time.Now().Add(podmanTime)
	if started && rec.Deadline.After(until) {
		until = rec.Deadline
	}
	for again := retry.New(250*time.Millisecond, 5*time.Second).Until(until); ; {
		container, err := a.task.env.Ensure(ctx, fresh, a.waits)
		if err == nil && container.Outdated && !started && !fresh {
			fresh = true // nothing may start in a container of an earlier version
			continue
		}
		if a.waited && err == nil {
			a.waited = false
			a.shown.Set("")
		}
		if err == nil || !errors.Is(err, sandbox.ErrUnreachable) {
			return container, err
		}
		a.waits(err)
		if err := again.Wait(ctx, err); err != nil {
			return nil, err
		}
	}
}

// waits shows what the task waits for: the beginning of what the error tells people.
func (a *attempt) waits(err error) {
	if said, ok := sentence.Of(err); ok {
		first, _, _ := strings.Cut(said, ". ")
		a.waited = true
		a.shown.Set(strings.ToLower(first[:1]) + first[1:] + ", retrying")
	}
}

// OpenModel lets a task's run use its model, until closeModel. A run that outlived the bot needs it before the room's
// gateway is open.
func (e *Env) OpenModel(rec state.Task) {
	model := rec.Model
	if model == "" { // the record of an older release
		c, _ := e.Models.Now(e.Rules().Model)
		model = c.Name
	}
	e.Route.Begin(e.ID, rec.Key, model)
}

func (e *Env) closeModel(key string) { e.Route.End(e.ID, key) }

// status returns the state of the run, and retries while podman's service restarts.
func (a *attempt) status(ctx context.Context) (sandbox.RunStatus, error) {
	for again := retry.New(250*time.Millisecond, 5*time.Second).Until(a.task.rec.Deadline); ; {
		status, err := a.container.RunStatus(ctx, a.task.rec.Run)
		if err == nil || !errors.Is(err, sandbox.ErrUnreachable) {
			return status, err
		}
		if err := again.Wait(ctx, err); err != nil {
			return status, err
		}
	}
}
