package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"matrix-tui/sandbox"
)

// pods are those of the sandboxes. They are the [sandbox.Runner] of a Cluster.
type pods struct{ *api }

// Restart ends the pod of that name; the cluster starts another one.
func (p pods) Restart(ctx context.Context, name string) error {
	one, err := p.of(ctx, name)
	if err != nil || one.Metadata.UID == "" {
		return err
	}
	if err := p.replace(ctx, one); err != nil {
		return err
	}
	if err := p.gone(ctx, p.in("/api/v1", "pods", name), one.Metadata.UID); err != nil {
		return fmt.Errorf("restart pod %s: %w", name, err)
	}
	return nil
}

// replace begins to end a pod; the cluster starts another one.
func (p pods) replace(ctx context.Context, one pod) error {
	name, options := one.Metadata.Name, object{"gracePeriodSeconds": 1, "preconditions": object{"uid": one.Metadata.UID}}
	err := p.call(ctx, http.MethodDelete, p.in("/api/v1", "pods", name), options, nil)
	if err != nil && !errors.Is(err, sandbox.ErrNotFound) {
		return fmt.Errorf("end pod %s: %w", name, err)
	}
	return nil
}

// Exec does not execute anything: whoever may do that in a pod gets at every secret of the cluster that is in one. It
// finds out why the pod of that name offers no connection.
func (p pods) Exec(ctx context.Context, name string, _ sandbox.Process) (int, error) {
	one, err := p.of(ctx, name)
	why, _ := one.waits()
	if why != "" {
		why = ": " + why
	}
	switch {
	case err != nil:
		return 0, err
	case one.Metadata.UID == "":
		return 0, fmt.Errorf("pod %s is gone: %w", name, sandbox.ErrNotRunning)
	case one.lost():
		return 0, fmt.Errorf("pod %s: %w: %w", name, errNodeLost, sandbox.ErrNotRunning)
	case one.ended(), why != "" && !one.runs():
		return 0, fmt.Errorf("pod %s does not run%s: %w", name, why, sandbox.ErrNotRunning)
	}
	return 0, fmt.Errorf("pod %s: %w%s", name, errNoLine, why) // the agent runs, whatever its relay does
}

// Paused is false: pods are not paused.
func (pods) Paused(context.Context, string) (bool, error) { return false, nil }

// Unpause does nothing: pods are not paused.
func (pods) Unpause(context.Context, string) error { return nil }

// of returns the pod of that name, with UID "" if there is none.
func (p pods) of(ctx context.Context, name string) (one pod, err error) {
	err = p.call(ctx, http.MethodGet, p.in("/api/v1", "pods", name), nil, &one)
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
		return pod{}, nil
	case err != nil:
		return pod{}, fmt.Errorf("read pod %s: %w", nameOf(name), err)
	}
	return one, nil
}
