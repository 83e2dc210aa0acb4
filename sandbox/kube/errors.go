package kube

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"matrix-tui/sandbox"
	"matrix-tui/state/clean"
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
	"The room's pod does not reach the bot. The operator can see why with `kubectl logs POD -c relay`; KUBE_DOOR, the "+
		"network policy and, with gVisor, the settings of containerd may be wrong. `!reset sandbox` replaces the pod.")

// ErrUnreachable: the cluster's API server does not answer. It is a [sandbox.ErrUnreachable].
var ErrUnreachable = sentence.New(unreachable("the API server is unreachable"),
	"The cluster does not answer. Tasks that run go on. The operator can check with `kubectl get --raw /readyz`.")

// errBusy: an object was changed or replaced at the same time.
var errBusy = sentence.New(unreachable("the object has changed meanwhile"),
	"The cluster was changing the room's sandbox at the same time. Try again.")

// errEnding: the pod was to end, and has not.
var errEnding = sentence.New(errors.New("the pod does not end"),
	"The room's pod does not end. The operator can see why with `kubectl describe pod`. Try again later.")

// ErrPending: the room's pod does not start, for a reason that the cluster gives.
var ErrPending = sentence.New(errors.New("the pod does not start"),
	"The cluster has not started the room's sandbox yet. Try again later. The operator can see the reason with `kubectl "+
		"describe sandbox` and `kubectl describe pod`.")

// maxReason bounds what is shown of the cluster's words, in characters.
const maxReason = 300

// words are the cluster's own, as a part of a sentence, without what signs an address.
func words(said string) string {
	said = signed.ReplaceAllString(said, "$1?…")
	return strings.TrimRight(clean.Short(said, maxReason), ". ")
}

// signed is an address with a query.
var signed = regexp.MustCompile(`(https?://[^\s"?]*)\?[^\s"]*`)

// pending is ErrPending with the cluster's words.
func pending(reason string) error {
	reason = words(reason)
	return sentence.Newf(fmt.Errorf("%w: %s", ErrPending, reason),
		"The cluster has not started the room's sandbox: %s. Try again later. The operator sees more with `kubectl "+
			"describe sandbox` and `kubectl describe pod`.", reason)
}

// errNoImage is an ErrPending that does not end by itself.
func errNoImage(reason string) error {
	reason = words(reason)
	return sentence.Newf(fmt.Errorf("%w: %s", ErrPending, reason),
		"The cluster cannot get the image of the room's sandbox: %s. The operator can correct SANDBOX_IMAGE or "+
			"KUBE_PULL_SECRET.", reason)
}

// denied is an answer of the API server that says what the bot has done wrong, or may not do.
func denied(said string) error {
	said = words(said)
	return sentence.Newf(errors.New("the API server refuses it"),
		"The cluster refuses what the room's sandbox needs: %s. The operator can check the bot's rights with "+
			"`matrix-tui doctor`.", said)
}
