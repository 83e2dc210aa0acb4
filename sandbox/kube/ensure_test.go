package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state/sentence"
)

// A cluster that has refused a room's pod tries it again when the room needs it, not only when its own pauses are over.
func TestEnsureTriesAgain(t *testing.T) {
	s := newRuled(t)
	s.full = true
	cluster, spec := s.connect(t), sandbox.Spec{Room: denRoom, Name: sandbox.NameFor(denRoom), Image: "i"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := cluster.Ensure(ctx, spec); err == nil {
		t.Fatal("a pod runs that is not admitted")
	}
	s.mu.Lock()
	s.full = false
	s.mu.Unlock()
	ctx, cancel = context.WithTimeout(t.Context(), soon)
	defer cancel()
	if _, err := cluster.Ensure(ctx, spec); err != nil {
		t.Error(err)
	}
}

// Volumes that were asked for and never found are asked for as it is set now. Others are kept.
func TestClaimsCorrected(t *testing.T) {
	s := newRuled(t)
	cluster := s.connect(t)
	spec := sandbox.Spec{Room: denRoom, Name: sandbox.NameFor(denRoom), Image: "i"}
	classes := func(phase, class, size string) (found []string) {
		t.Helper()
		s.mu.Lock()
		for _, o := range s.objects {
			if o["kind"] == "PersistentVolumeClaim" {
				o["status"] = object{"phase": phase}
			}
		}
		s.mu.Unlock()
		cluster.class, cluster.size = class, size
		if _, err := cluster.Ensure(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		all, err := cluster.all(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			found = append(found, one.Metadata.Annotations[annotationAsked])
		}
		return found
	}
	for _, c := range []struct{ phase, class, size, want string }{
		{"", "wrong", "1Gi", "1Gi wrong"},
		{"Pending", "right", "1Gi", "1Gi right"},
		{"Pending", "right", "2Gi", "2Gi right"},
		{"Pending", "", "2Gi", "2Gi "},
		{"Bound", "other", "3Gi", "2Gi "},
	} {
		if got := strings.Join(classes(c.phase, c.class, c.size), ", "); got != c.want+", "+c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// A right that is missing is told in a sentence.
func TestEnsureDenied(t *testing.T) {
	s := newRuled(t)
	cluster := s.connect(t)
	delete(s.may, "create "+group+"/sandboxes in the namespace")
	_, err := cluster.Ensure(t.Context(), sandbox.Spec{Room: denRoom, Name: sandbox.NameFor(denRoom), Image: "i"})
	if said, ok := sentence.Of(err); !ok || !strings.Contains(said, "may not create "+group+"/sandboxes") || !strings.Contains(said, "matrix-tui doctor") {
		t.Errorf("%v: %q", err, said)
	}
}

// What keeps an image away is not to be tried later.
func TestWhyNoImage(t *testing.T) {
	var p pod
	p.Status.Relays = make([]container, 1)
	p.Status.Relays[0].State.Waiting.Reason = "ImagePullBackOff"
	p.Status.Relays[0].State.Waiting.Message = `Back-off pulling image "example.org/i".`
	reason, noImage := p.waits()
	if said := sentence.Text(errNoImage(reason)); !noImage || strings.Contains(said, "again") || !strings.Contains(said, `"example.org/i". The operator`) {
		t.Errorf("%q", said)
	}
}

// A pod that has ended for good is replaced, because agent-sandbox leaves it where it is. So is one that crashes again and
// again, for which the kubelet waits ever longer.
func TestEnsureEnded(t *testing.T) {
	for want, status := range map[string]object{
		"Evicted: The node": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."},
		"CrashLoopBackOff: back-off 5m": {"phase": "Running", "containerStatuses": []any{
			object{"state": object{"waiting": object{"reason": "CrashLoopBackOff", "message": "back-off 5m"}}}}},
	} {
		s := newRuled(t)
		cluster, spec := s.connect(t), sandbox.Spec{Room: denRoom, Name: sandbox.NameFor(denRoom), Image: "i"}
		if _, err := cluster.Ensure(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		name := nameOf(spec.Name)
		before, err := cluster.pods.of(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		for path, o := range s.objects {
			switch {
			case strings.HasSuffix(path, "/pods/"+name):
				o["status"] = status
			case strings.HasSuffix(path, "/sandboxes/"+name):
				o["status"] = object{"conditions": []any{object{"type": "Ready", "status": "False", "message": "Pod failed"}}}
			}
		}
		s.mu.Unlock()
		if _, err := cluster.pods.Exec(t.Context(), name, sandbox.Process{}); !errors.Is(err, sandbox.ErrNotRunning) || !strings.Contains(err.Error(), want) {
			t.Errorf("a command in it: %v, want %s", err, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		is, err := cluster.Ensure(ctx, spec)
		if err != nil || !is.Started {
			t.Errorf("%s: %+v, %v", want, is, err)
		}
		if after, err := cluster.pods.of(t.Context(), name); err != nil || after.Metadata.UID == "" || after.Metadata.UID == before.Metadata.UID {
			t.Errorf("%s: it was not replaced: %+v, %v", want, after, err)
		}
	}
}

// While only the relay does not run, the agent does: nobody may begin its task a second time.
func TestExecWithoutRelay(t *testing.T) {
	s := newRuled(t)
	cluster, spec := s.connect(t), sandbox.Spec{Room: denRoom, Name: sandbox.NameFor(denRoom), Image: "i"}
	if _, err := cluster.Ensure(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	name := nameOf(spec.Name)
	relay := object{"state": object{"waiting": object{"reason": "CrashLoopBackOff", "message": "back-off 20s"}}}
	for _, c := range []struct {
		sandbox object
		want    error
	}{
		{object{"running": object{"startedAt": "2026-11-29T00:00:00Z"}}, sandbox.ErrUnreachable},
		{object{"waiting": object{"reason": "PodInitializing"}}, sandbox.ErrNotRunning},
	} {
		s.mu.Lock()
		for path, o := range s.objects {
			if strings.HasSuffix(path, "/pods/"+name) {
				o["status"] = object{"phase": "Running", "initContainerStatuses": []any{relay},
					"containerStatuses": []any{object{"state": c.sandbox}}}
			}
		}
		s.mu.Unlock()
		if _, err := cluster.pods.Exec(t.Context(), name, sandbox.Process{}); !errors.Is(err, c.want) || !strings.Contains(err.Error(), "CrashLoopBackOff") {
			t.Errorf("%v: %v, want %v", c.sandbox, err, c.want)
		}
	}
}

// Whoever waits for an end until their own time is over is told what they waited for.
func TestEndTakesTooLong(t *testing.T) {
	s := newRuled(t)
	cluster, spec := s.connect(t), sandbox.Spec{Room: denRoom, Name: sandbox.NameFor(denRoom), Image: "i"}
	if _, err := cluster.Ensure(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	one, err := cluster.pods.of(t.Context(), nameOf(spec.Name))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err = cluster.server.gone(ctx, cluster.server.in("/api/v1", "pods", one.Metadata.Name), one.Metadata.UID)
	if !errors.Is(err, errEnding) {
		t.Error(err)
	}
}

func TestWords(t *testing.T) {
	const said = `failed to pull "https://registry.example.org/blob?X-Signature=secret": 403.`
	if got := words(said); got != `failed to pull "https://registry.example.org/blob?…": 403` {
		t.Error(got)
	}
}

// A sandbox of an earlier protocol is known as such.
func TestEnsureOld(t *testing.T) {
	s := newRuled(t)
	cluster, spec := s.connect(t), sandbox.Spec{Room: denRoom, Name: sandbox.NameFor(denRoom), Image: "i"}
	for _, old := range []bool{false, true} {
		s.mu.Lock()
		for path, o := range s.objects {
			if strings.HasSuffix(path, "/sandboxes/"+nameOf(spec.Name)) {
				o["metadata"].(map[string]any)["annotations"].(map[string]any)[annotationPath] = "/earlier"
			}
		}
		s.mu.Unlock()
		if is, err := cluster.Ensure(t.Context(), spec); err != nil || is.Old != old {
			t.Errorf("old %t: %+v, %v", old, is, err)
		}
	}
}
