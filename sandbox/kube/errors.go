package kube

import (
	"errors"
	"fmt"

	"matrix-tui/sandbox"
	"matrix-tui/state/sentence"
)

// ErrUnreachable: the cluster's API server does not answer. It is a [sandbox.ErrUnreachable].
var ErrUnreachable = sentence.New(fmt.Errorf("the API server is unreachable: %w", sandbox.ErrUnreachable),
	"The cluster does not answer. Tasks that run go on. The operator can check with `kubectl get --raw /readyz`.")

// ErrPending: the room's pod does not start, for a reason that the cluster gives.
var ErrPending = sentence.New(errors.New("the pod does not start"),
	"The cluster has not started the room's sandbox yet. Send the task again later. The operator can see the reason "+
		"with `kubectl describe sandbox` and `kubectl describe pod`.")
