//go:build kube

package kube

import (
	"context"
	"strings"
	"testing"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state/sentence"
)

// A room whose pod the cluster does not admit is told why. Once the cluster admits it, the next task starts it at once.
func TestClusterQuota(t *testing.T) {
	s := newSite(t)
	spec, why := s.spec(1), ""
	operate(t, "kubectl", "create", "quota", "full", "--hard=pods=0")
	t.Cleanup(func() { operate(t, "kubectl", "delete", "quota", "full", "--ignore-not-found") })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	spec.Waiting = func(err error) {
		if why = sentence.Text(err); strings.Contains(why, "exceeded quota") {
			cancel()
		}
	}
	if _, err := s.Ensure(ctx, spec); err == nil || !strings.Contains(sentence.Text(err), "exceeded quota") {
		t.Errorf("%v; the room is told %q", err, why)
	}
	operate(t, "kubectl", "delete", "quota", "full")
	at := time.Now()
	s.sh(s.ensure(spec), "true")
	t.Logf("MEASURED corrected quota to a command: %s", time.Since(at).Round(time.Millisecond))
}

// A room whose volumes no class provides is told so. Once the setting is corrected, the next task starts its pod.
func TestClusterClass(t *testing.T) {
	s := newSite(t)
	spec, right := s.spec(1), s.cluster.class
	s.cluster.class = "wrong"
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := s.Ensure(ctx, spec); err == nil || !strings.Contains(sentence.Text(err), "PersistentVolumeClaims") {
		t.Errorf("the room is told %v", err)
	}
	s.cluster.class = right
	at := time.Now()
	s.sh(s.ensure(spec), "true")
	t.Logf("MEASURED corrected class to a command: %s", time.Since(at).Round(time.Millisecond))
}

// A pod that answers no more is restarted by whoever stops a run in it.
func TestClusterDeaf(t *testing.T) {
	s := newSite(t)
	spec := s.spec(1)
	c := s.ensure(spec)
	if _, err := c.StartRun(t.Context(), sandbox.RunSpec{ID: "r", Argv: []string{"sleep", "1000"}}); err != nil {
		t.Fatal(err)
	}
	operate(t, "kubectl", "exec", nameOf(c.Name), "--container", "sandbox", "--", "sh", "-c",
		`for p in /proc/[0-9]*; do if tr '\0' ' ' <$p/cmdline | grep -q '^boxinit connect'; then kill -STOP ${p#/proc/}; fi; done`)
	at := time.Now()
	if err := c.StopRun(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	t.Logf("MEASURED end of a run in a pod that does not answer: %s", time.Since(at).Round(time.Millisecond))
	if status, err := s.ensure(spec).RunStatus(t.Context(), "r"); err != nil || status.State != sandbox.RunInterrupted {
		t.Errorf("%+v, %v", status, err)
	}
}

// A pod that its kubelet has ended for good is replaced, with the room's files.
func TestClusterEnded(t *testing.T) {
	s := newSite(t)
	spec := s.spec(1)
	c := s.ensure(spec)
	s.sh(c, "echo kept >/workspace/a; sync")
	operate(t, "kubectl", "patch", "pod", nameOf(c.Name), "--patch", `{"spec":{"activeDeadlineSeconds":1}}`)
	eventually(t, "the pod has ended", func() bool {
		p, err := s.cluster.pods.of(t.Context(), nameOf(c.Name))
		return err == nil && p.ended()
	})
	at := time.Now()
	if got := s.sh(s.ensure(spec), "cat /workspace/a"); got != "kept" {
		t.Errorf("%q", got)
	}
	t.Logf("MEASURED ended pod to a command: %s", time.Since(at).Round(time.Millisecond))
}
