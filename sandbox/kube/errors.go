package kube

import (
	"errors"

	"matrix-tui/sandbox"
	"matrix-tui/state/sentence"
)

// unreachable is a [sandbox.ErrUnreachable], whose own words are about podman.
type unreachable string

// Error returns what cannot be reached.
func (u unreachable) Error() string { return string(u) }

// Unwrap returns the kind.
func (unreachable) Unwrap() error { return sandbox.ErrUnreachable }

// errNoLine: the pod runs, and its relay has not reached the bot.
var errNoLine = sentence.New(unreachable("the pod has not reached the door"),
	"The room's pod does not reach the bot. The operator can see why with `kubectl logs POD -c relay`; KUBE_DOOR and the "+
		"network policy may be wrong. Send the task again later.")

// ErrUnreachable: the cluster's API server does not answer. It is a [sandbox.ErrUnreachable].
var ErrUnreachable = sentence.New(unreachable("the API server is unreachable"),
	"The cluster does not answer. Tasks that run go on. The operator can check with `kubectl get --raw /readyz`.")

// errEnding: the pod was to end, and has not.
var errEnding = sentence.New(errors.New("the pod does not end"),
	"The room's pod does not end. The operator can see why with `kubectl describe pod`. Try again later.")

// ErrPending: the room's pod does not start, for a reason that the cluster gives.
var ErrPending = sentence.New(errors.New("the pod does not start"),
	"The cluster has not started the room's sandbox yet. Send the task again later. The operator can see the reason "+
		"with `kubectl describe sandbox` and `kubectl describe pod`.")
