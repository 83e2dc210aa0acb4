package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/sandbox/boxinit"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

const (
	// startTime is how long the cluster may take to start a pod: a node may have to fetch the image, or to be added.
	startTime = 3 * time.Minute
	// lostTime is how long a pod on a lost node is waited for: the machine may just start again.
	lostTime = time.Minute
	// lookTime is when somebody who waits is told why.
	lookTime = 10 * time.Second
	// readyPoll and readyPollMax are how often a sandbox is read while its pod starts.
	readyPoll, readyPollMax = 100 * time.Millisecond, time.Second
)

// ensuring is the state of one Ensure.
type ensuring struct {
	*Cluster
	spec     sandbox.Spec
	template podTemplate
	strength string
	looked   bool      // it was seen not to run
	removed  time.Time // when a pod that had ended was last removed
	is       sandbox.Ensured
}

// Ensure returns the room's sandbox, with its pod running: see [sandbox.Engine].
func (c *Cluster) Ensure(ctx context.Context, spec sandbox.Spec) (sandbox.Ensured, error) {
	claims, err := c.claimsOf(ctx, cmp.Or(spec.VolumesOf, spec.Room))
	if err != nil {
		return sandbox.Ensured{}, err
	}
	e := ensuring{Cluster: c, spec: spec, template: c.cfg.template(spec, claims[0], claims[1]),
		strength: c.cfg.strength(spec), is: sandbox.Ensured{Name: spec.Name, Room: spec.Room, Init: boxinitPath, Only: true}}
	begun, again, why := time.Now(), retry.New(readyPoll, readyPollMax), error(nil)
	for {
		s, done, err := e.step(ctx)
		switch {
		case done:
			return e.is, nil
		case ctx.Err() != nil: // known is why, and not which call was the last one
			return e.is, cmp.Or(why, err, ctx.Err())
		case err != nil && !errors.Is(err, sandbox.ErrUnreachable):
			return e.is, err
		}
		if waited := time.Since(begun); waited > lookTime {
			if why = err; err == nil {
				why = e.why(context.WithoutCancel(ctx), s)
			}
			switch {
			case err != nil, waited > lostTime && errors.Is(why, errNodeLost):
				return e.is, why
			case waited > startTime: // it must not keep what other rooms could use
				if err := e.set(ctx, s, suspended); err != nil {
					e.log.Warn().Err(err).Str("sandbox", s.Metadata.Name).Msg("cannot suspend what does not start")
				}
				return e.is, why
			case spec.Waiting != nil:
				spec.Waiting(why)
			}
		}
		if err := again.Wait(ctx, err); err != nil {
			return e.is, cmp.Or(why, err)
		}
	}
}

// step reads the sandbox and takes the next step. It reports true once the pod runs.
func (e *ensuring) step(ctx context.Context) (s sandboxObject, done bool, err error) {
	s, err = e.get(ctx, e.spec.Name, e.spec.Room)
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
		return s, false, e.create(ctx)
	case err != nil:
		return s, false, err
	case s.Metadata.Deleted != nil:
		return s, false, nil
	}
	e.is.Image = s.Metadata.Annotations[annotationImage]
	e.is.Outdated = s.Metadata.Annotations[annotationSpec] != e.template.print()
	e.is.Old = s.Metadata.Annotations[annotationPath] != boxinit.OperationPath
	if e.spec.Fresh && e.is.Outdated {
		e.log.Info().Str("sandbox", s.Metadata.Name).Str("room", e.spec.Room).
			Msg("the image or the pod's template has changed: replacing the sandbox on its volumes")
		return s, false, e.end(ctx, s)
	}
	if s.Spec.OperatingMode == suspended {
		e.is.Started = true
		return s, false, e.set(ctx, s, running)
	}
	p, err := e.pods.of(ctx, s.Metadata.Name)
	if err != nil {
		return s, false, err
	}
	if _, ready := is(s.Status.Conditions, "Ready"); !ready {
		return s, false, e.nudge(ctx, s, p)
	}
	if p.Metadata.UID == "" || p.Metadata.Deleted != nil || p.ended() {
		return s, false, nil
	}
	e.is.ID = s.Metadata.Name // also of the pod, and of the next one
	strength := cmp.Or(s.Metadata.Annotations[annotationStrong], e.strength)
	e.is.Strength, err = e.trap.in(strength, p.hosts()...)
	return s, err == nil, err
}

// nudge gets a sandbox going that is to run, and does not.
func (e *ensuring) nudge(ctx context.Context, s sandboxObject, p pod) error {
	first := !e.looked && !e.is.Started
	e.looked = true
	switch {
	case p.Metadata.Deleted != nil:
	case (p.ended() || p.crashes()) && time.Since(e.removed) > lookTime: // agent-sandbox leaves it there
		e.is.Started, e.removed = true, time.Now()
		return e.pods.replace(ctx, p)
	case p.Metadata.UID == "" && first:
		// The cluster tries it again ever more seldom, and at once if it changes.
		return e.set(ctx, s, suspended)
	}
	return nil
}

// create creates the room's sandbox.
func (e *ensuring) create(ctx context.Context) error {
	s := sandboxObject{APIVersion: version, Kind: kind, Spec: sandboxSpec{OperatingMode: running, PodTemplate: e.template},
		Metadata: meta{Name: nameOf(e.spec.Name), Labels: map[string]string{labelOwner: owner},
			Annotations: map[string]string{annotationRoom: e.spec.Room, annotationName: e.spec.Name,
				annotationImage: e.spec.Image, annotationSpec: e.template.print(), annotationStrong: e.strength,
				annotationPath: boxinit.OperationPath}}}
	err := e.server.call(ctx, http.MethodPost, e.sandboxes(""), s, nil)
	if errors.Is(err, sandbox.ErrNameTaken) {
		return nil // created concurrently; the next step reads it
	}
	if err != nil {
		return fmt.Errorf("create sandbox %s: %w", s.Metadata.Name, err)
	}
	e.is.Created, e.is.Started = true, true
	return nil
}

// why returns why a sandbox that was to start does not run yet.
func (e *ensuring) why(ctx context.Context, s sandboxObject) error {
	p, err := e.pods.of(ctx, nameOf(e.spec.Name))
	switch {
	case err != nil:
		return err
	case p.lost():
		return fmt.Errorf("start sandbox %s: node %s: %w", s.Metadata.Name, p.Spec.Node, errNodeLost)
	}
	reason, noImage := p.waits()
	if noImage {
		return errNoImage(reason)
	}
	if c, _ := is(s.Status.Conditions, "PodScheduled"); reason == "" && c.Status == "False" {
		reason = c.Message
	}
	if c, _ := is(s.Status.Conditions, "Ready"); reason == "" { // also why there is no pod, such as a quota
		reason = c.Message
	}
	if reason == "" {
		return ErrPending
	}
	return pending(reason)
}

// errNodeLost: the machine on which the pod ran does not answer.
var errNodeLost = sentence.New(errors.New("the node is lost"),
	"The machine that the room's sandbox ran on does not answer. The files are kept. The cluster moves the sandbox once "+
		"an operator says that the machine is off: `kubectl taint node NAME "+
		"node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`. Then send the task again.")

// lost reports whether the pod was to end because its node does not answer.
func (p pod) lost() bool {
	c, ok := is(p.Status.Conditions, "DisruptionTarget")
	return ok && c.Reason == "DeletionByTaintManager" && p.Metadata.Deleted != nil
}

// ended reports whether a pod has ended for good, because it was evicted or its node was shut down, for example.
func (p pod) ended() bool { return p.Status.Phase == "Failed" || p.Status.Phase == "Succeeded" }

// crashes reports whether the container of the agent has ended so often that the kubelet waits, for up to five minutes,
// before it starts it again. Under gVisor, whoever uses up memory ends it.
func (p pod) crashes() bool {
	return slices.ContainsFunc(p.Status.Containers, func(one container) bool {
		return one.State.Waiting.Reason == "CrashLoopBackOff"
	})
}

// runs reports whether the container of the agent runs.
func (p pod) runs() bool {
	return slices.ContainsFunc(p.Status.Containers, func(one container) bool { return one.State.Running != nil })
}

// waits returns why a pod's containers do not run, "" = they do, or the cluster does not say. NoImage means that they
// have none to run.
func (p pod) waits() (reason string, noImage bool) {
	if p.ended() {
		return strings.Trim(cmp.Or(p.Status.Reason, p.Status.Phase)+": "+p.Status.Message, ": "), false
	}
	if c, ok := is(p.Status.Conditions, "PodScheduled"); !ok && c.Message != "" {
		return c.Message, false
	}
	for _, one := range append(p.Status.Relays, p.Status.Containers...) {
		if w := one.State.Waiting; w.Reason != "" && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			return strings.TrimRight(w.Reason+": "+w.Message, ": "), strings.Contains(w.Reason, "Image")
		}
	}
	return "", false
}

// gVisorMemory is how far the limit of a pod may be above those of its containers: a RuntimeClass can add some.
const gVisorMemory = 256 << 20

// strength is what boxinit must find in the pod.
func (c *Config) strength(spec sandbox.Spec) string {
	s := boxinit.Strength{Capabilities: sandbox.CapabilityMask, Memory: spec.Memory, CPU: int64(spec.CPUs * 100),
		Mounts: map[string][]string{"/workspace": nil, "/root": nil, boxinit.Dir: nil, "/run/gateway": {"ro"}},
		Pod:    &boxinit.Pod{HostIDs: !c.UserNamespaces, AnySeccomp: c.Seccomp == ""}}
	if c.Seccomp != "" {
		s.Mark = sandbox.SeccompMark()
	}
	if s.Runtime = spec.Runtime; s.Runtime == sandbox.GVisor && s.Memory > 0 {
		s.Memory += relayMemory<<20 + gVisorMemory // it shows what the pod may use
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // of numbers
	}
	return string(data)
}
