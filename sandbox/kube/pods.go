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

// Restart ends the pod with that UID; the cluster starts another one.
func (p pods) Restart(ctx context.Context, id string) error {
	one, err := p.pod(ctx, id)
	if err != nil {
		return err
	}
	options := object{"gracePeriodSeconds": 1, "preconditions": object{"uid": id}}
	path := p.in("/api/v1", "pods", one.Metadata.Name)
	if err = p.call(ctx, http.MethodDelete, path, options, nil); err == nil {
		err = p.gone(ctx, path, id)
	}
	if err != nil && !errors.Is(err, sandbox.ErrNotFound) {
		return fmt.Errorf("restart pod %s: %w", one.Metadata.Name, err)
	}
	return nil
}

// pod returns the pod with a UID. One that is gone is [sandbox.ErrNotRunning]: its sandbox may still be there.
func (p pods) pod(ctx context.Context, uid string) (found pod, err error) {
	err = each(ctx, p.api, p.in("/api/v1", "pods", ""), func(one pod) {
		if one.Metadata.UID == uid {
			found = one
		}
	})
	if err == nil && found.Metadata.UID == "" {
		err = fmt.Errorf("pod %s is gone: %w", uid, sandbox.ErrNotRunning)
	}
	return found, err
}

// Exec does not execute anything: whoever may do that in a pod gets at every secret of the cluster that is in one. It
// finds out why the pod with that UID offers no connection.
func (p pods) Exec(ctx context.Context, id string, _ sandbox.Process) (int, error) {
	one, err := p.pod(ctx, id)
	if err != nil {
		return 0, err
	}
	if one.lost() {
		return 0, fmt.Errorf("pod %s: %w: %w", one.Metadata.Name, errNodeLost, sandbox.ErrNotRunning)
	}
	if why := one.waits(); why != "" {
		return 0, fmt.Errorf("pod %s does not run: %s: %w", one.Metadata.Name, why, sandbox.ErrNotRunning)
	}
	return 0, fmt.Errorf("pod %s has not reached the door: %w", one.Metadata.Name, sandbox.ErrUnreachable)
}

// Paused is false: pods are not paused.
func (pods) Paused(context.Context, string) (bool, error) { return false, nil }

// Unpause does nothing: pods are not paused.
func (pods) Unpause(context.Context, string) error { return nil }

// of returns the pod of a sandbox, with UID "" if there is none.
func (p pods) of(ctx context.Context, s sandboxObject) (one pod, err error) {
	err = p.call(ctx, http.MethodGet, p.in("/api/v1", "pods", s.Metadata.Name), nil, &one)
	if errors.Is(err, sandbox.ErrNotFound) {
		return pod{}, nil
	}
	return one, err
}
