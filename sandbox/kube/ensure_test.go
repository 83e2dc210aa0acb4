package kube

import (
	"context"
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
			found = append(found, one.Spec.StorageClass+" "+one.Spec.Resources.Requests.Storage)
		}
		return found
	}
	for _, c := range []struct{ phase, class, size, want string }{
		{"", "wrong", "1Gi", "wrong 1Gi"},
		{"Pending", "right", "1Gi", "right 1Gi"},
		{"Pending", "right", "2Gi", "right 2Gi"},
		{"Pending", "", "2Gi", "right 2Gi"},
		{"Bound", "other", "3Gi", "right 2Gi"},
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
