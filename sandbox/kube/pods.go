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
	options := object{"gracePeriodSeconds": 1, "preconditions": object{"uid": one.Metadata.UID}}
	path := p.in("/api/v1", "pods", name)
	if err = p.call(ctx, http.MethodDelete, path, options, nil); err == nil {
		err = p.gone(ctx, path, one.Metadata.UID)
	}
	if err != nil && !errors.Is(err, sandbox.ErrNotFound) {
		return fmt.Errorf("restart pod %s: %w", name, err)
	}
	return nil
}

// Exec does not execute anything: whoever may do that in a pod gets at every secret of the cluster that is in one. It
// finds out why the pod of that name offers no connection.
func (p pods) Exec(ctx context.Context, name string, _ sandbox.Process) (int, error) {
	one, err := p.of(ctx, name)
	switch why, _ := one.waits(); {
	case err != nil:
		return 0, err
	case one.Metadata.UID == "":
		return 0, fmt.Errorf("pod %s is gone: %w", name, sandbox.ErrNotRunning)
	case one.lost():
		return 0, fmt.Errorf("pod %s: %w: %w", name, errNodeLost, sandbox.ErrNotRunning)
	case why != "":
		return 0, fmt.Errorf("pod %s does not run: %s: %w", name, why, sandbox.ErrNotRunning)
	}
	return 0, fmt.Errorf("pod %s: %w", name, errNoLine)
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
