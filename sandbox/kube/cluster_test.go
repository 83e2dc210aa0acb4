//go:build kube

package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/sandbox/boxinit/relay"
)

// The tests need a cluster: deploy/test --kube starts one, and sets MATRIX_TUI_KUBE.

func TestClusterRoom(t *testing.T) {
	s := newSite(t)
	spec, begun, lost := s.spec(1), time.Now(), []string(nil)
	spec.Replacing = func(_ context.Context, names []string) error { lost = names; return nil }
	c := s.ensure(spec)
	var out bytes.Buffer
	status, err := c.Run(t.Context(), sandbox.RunSpec{ID: "one", Argv: []string{"sh", "-c", "echo out; exit 3"}}, &out, func(bool) {})
	if err != nil || status.Code != 3 || out.String() != "out\n" {
		t.Fatalf("%q, %+v, %v", out.String(), status, err)
	}
	t.Logf("MEASURED first run in a new room: %s", time.Since(begun).Round(time.Millisecond))
	s.sh(c, "echo kept >/workspace/a; echo kept >/root/b; mkdir -p /usr/local/c")
	var took []time.Duration
	for range 50 {
		at := time.Now()
		s.sh(c, "true")
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	t.Logf("MEASURED a command over the line: median %s, slowest %s", took[25], took[49])

	if err := s.Stop(t.Context(), c.Name, spec.Room); err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	c = s.ensure(spec)
	if got := s.sh(c, "cat /workspace/a /root/b; ls -d /usr/local/c 2>&1 || true"); !strings.HasPrefix(got, "kept\nkept\n") || !strings.Contains(got, "No such file") {
		t.Errorf("after it was suspended: %q", got)
	}
	t.Logf("MEASURED suspended room to its first command: %s", time.Since(at).Round(time.Millisecond))
	if status, err := c.RunStatus(t.Context(), "one"); err != nil || status.State != sandbox.RunExited {
		t.Errorf("the record of a run: %+v, %v", status, err)
	}

	// What was installed is to be installed again, but not what the image has.
	s.sh(c, `sed 's/^Package: .*/Package: added/; /^$/q' /var/lib/dpkg/status >/tmp/s; cat /tmp/s >>/var/lib/dpkg/status`)
	if _, err := c.Run(t.Context(), sandbox.RunSpec{ID: "two", Argv: []string{"true"}}, io.Discard, func(bool) {}); err != nil {
		t.Fatal(err)
	}

	// A new image replaces the pod on its volumes.
	spec.CPUs, spec.Fresh = 0.5, true
	if c = s.ensure(spec); s.sh(c, "cat /workspace/a") != "kept" {
		t.Error("the volume was not kept")
	}
	if !slices.Equal(lost, []string{"added"}) {
		t.Errorf("to be installed again: %q", lost)
	}
}

// A pod that is replaced without the bot has lost what was installed in it. That is passed on and installed again, each
// time.
func TestClusterPodReplaced(t *testing.T) {
	s := newSite(t)
	spec := s.spec(1)
	var lost []string
	spec.Replacing = func(_ context.Context, names []string) error { lost = names; return nil }
	c, installed := s.ensure(spec), time.Now()
	for _, run := range []string{"one", "two"} {
		s.sh(c, `sed 's/^Package: .*/Package: added/; /^$/q' /var/lib/dpkg/status >/tmp/s; cat /tmp/s >>/var/lib/dpkg/status`)
		if _, err := c.Run(t.Context(), sandbox.RunSpec{ID: run, Argv: []string{"true"}}, io.Discard, func(bool) {}); err != nil {
			t.Fatal(err)
		}
		lost = nil
		operate(t, "kubectl", "delete", "pod", nameOf(c.Name))
		if c = s.ensure(spec); !slices.Equal(lost, []string{"added"}) {
			t.Errorf("after run %s, to be installed again: %q", run, lost)
		}
		if missing, err := c.Reinstall(t.Context(), lost); err != nil || !slices.Equal(missing, lost) { // no repository has it
			t.Errorf("%q, %v", missing, err)
		}
		status, err := c.RunStatus(t.Context(), "packages")
		if err != nil || !status.Started.After(installed) {
			t.Errorf("after run %s, nothing was tried: %+v, %v", run, status, err)
		}
		installed = status.Started
		if lost = nil; s.ensure(spec) == nil || lost != nil {
			t.Errorf("passed on again: %q", lost)
		}
	}
}

// A run outlives the bot, the API server and the relay.
func TestClusterOutlives(t *testing.T) {
	s := newSite(t)
	spec := s.spec(1)
	c := s.ensure(spec)
	run := sandbox.RunSpec{ID: "long", Argv: []string{"sh", "-c", "i=0; while [ ! -e /workspace/stop ]; do i=$((i+1)); echo $i; sleep 0.2; done; echo end"}}
	if _, err := c.StartRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	s.end()
	time.Sleep(time.Second)
	at := time.Now()
	s.open()
	if _, err := s.gate.Open(spec.Room); err != nil {
		t.Fatal(err)
	}
	c = s.ensure(spec)
	s.sh(c, "true")
	t.Logf("MEASURED restarted bot to a command in a running pod: %s", time.Since(at).Round(time.Millisecond))

	operate(t, "kill", "apiserver")
	out, followed := new(bytes.Buffer), make(chan error, 1)
	go func() {
		status, err := c.FollowRun(t.Context(), "long", 0, out)
		if err == nil && status.State != sandbox.RunExited {
			err = fmt.Errorf("%+v", status)
		}
		followed <- err
	}()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Second) {
		s.sh(c, "true")
	}
	operate(t, "start", "apiserver")

	relay := func() string { return s.sh(c, "readlink /proc/1/ns/pid; ls -i /run/gateway/sock") }
	before := relay()
	operate(t, "kubectl", "exec", nameOf(c.Name), "--container", "relay", "--", "/bin/sh", "-c", "kill -TERM 1")
	took := eventually(t, "another relay has made its socket", func() bool {
		result, err := c.Exec(t.Context(), sandbox.Cmd{Argv: []string{"ls", "-i", "/run/gateway/sock"}})
		return err == nil && result.Code == 0 && !strings.Contains(before, strings.TrimSpace(string(result.Stdout)))
	})
	t.Logf("MEASURED killed relay to a command: %s", took.Round(time.Millisecond))
	s.sh(c, "touch /workspace/stop")
	if err := <-followed; err != nil || !strings.HasPrefix(out.String(), "1\n2\n3\n") || !strings.HasSuffix(out.String(), "end\n") {
		t.Errorf("%v, %.100q", err, out.String())
	}
}

// A node loses power in mid-run; the run counts as interrupted, and the room's files are there again when it is back.
func TestClusterNodeDies(t *testing.T) {
	s := newSite(t)
	spec := s.spec(1)
	c := s.ensure(spec)
	s.sh(c, "echo kept >/workspace/a; sync")
	node := nodeOf(t, c)
	begun, ended := make(chan bool, 1), make(chan error, 1)
	go func() {
		status, err := c.Run(t.Context(), sandbox.RunSpec{ID: "r", Argv: []string{"sleep", "1000"}}, io.Discard, func(bool) { begun <- true })
		if err == nil && status.State == sandbox.RunInterrupted {
			err = errors.New("interrupted")
		}
		ended <- err
	}()
	<-begun
	operate(t, "kill", node)
	time.Sleep(10 * time.Second)
	operate(t, "start", node)
	at := time.Now()
	if err := <-ended; err == nil || err.Error() != "interrupted" {
		t.Errorf("%v, want interrupted", err)
	}
	c = s.ensure(spec)
	if got := s.sh(c, "cat /workspace/a"); got != "kept" {
		t.Errorf("%q", got)
	}
	t.Logf("MEASURED node back to a command: %s", time.Since(at).Round(time.Millisecond))
}

// Where pods reach more than the door, nothing runs.
func TestClusterOpenNetwork(t *testing.T) {
	s := newSite(t)
	t.Cleanup(func() { operate(t, "network", "closed") })
	for i, network := range []string{"host", "node", "open"} {
		operate(t, "network", network)
		c := s.ensure(s.spec(i)) // another one: it remembers for a day what was closed
		if _, err := c.StartRun(t.Context(), sandbox.RunSpec{ID: "r", Argv: []string{"true"}}); !errors.Is(err, sandbox.ErrWeak) {
			t.Errorf("%s: %v, want ErrWeak", network, err)
		}
	}
}

// A pod that says that it is a room's reaches nothing, nor does anybody else's token.
func TestClusterForgedRoom(t *testing.T) {
	s := newSite(t)
	spec := s.spec(1)
	s.ensure(spec)
	liar := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "liar", "labels": {%q: %q}, "annotations": {%q: %q}},
		"spec": {"serviceAccountName": %q, "automountServiceAccountToken": false, "containers": [{"name": "c", "image": %q, "imagePullPolicy": "Never",
		"command": ["sleep", "1000"]}]}}`, labelOwner, owner, annotationRoom, spec.Room, account, os.Getenv("MATRIX_TUI_KUBE_IMAGE"))
	file := filepath.Join(t.TempDir(), "liar.json")
	if err := os.WriteFile(file, []byte(liar), 0o600); err != nil {
		t.Fatal(err)
	}
	operate(t, "kubectl", "create", "-f", file)
	t.Cleanup(func() { operate(t, "kubectl", "delete", "pod", "liar", "--grace-period=0", "--force") })
	token := func(of string, more ...string) string {
		return operate(t, "kubectl", append([]string{"create", "token", of}, more...)...)
	}
	bound := func(pod string) string {
		return token(account, "--audience", audience, "--bound-object-kind", "Pod", "--bound-object-name", pod)
	}
	if answer := knock(t, s, bound(nameOf(sandbox.NameFor(spec.Room)))); answer != relay.DoorWelcome {
		t.Errorf("the room's own pod: the door answers %d", answer)
	}
	for name, token := range map[string]string{
		"for the API server": token(account),
		"of another account": token("default", "--audience", audience),
		"of no pod":          token(account, "--audience", audience),
		"of a pod that lies": bound("liar"),
		"forged":             "eyJhbGciOiJub25lIn0.e30.",
	} {
		if answer := knock(t, s, token); answer != relay.DoorRefused {
			t.Errorf("%s: the door answers %d", name, answer)
		}
	}
}

// Many rooms at once, suspended and resumed, on two nodes.
func TestClusterMany(t *testing.T) {
	const rooms = 100
	s := newSite(t)
	specs := make([]sandbox.Spec, rooms)
	for i := range specs {
		specs[i] = s.spec(i)
	}
	all := func(what string, do func(i int) error) {
		t.Helper()
		begun, errs := time.Now(), make(chan error, rooms)
		limit := make(chan bool, 20)
		for i := range specs {
			go func() {
				limit <- true
				defer func() { <-limit }()
				errs <- do(i)
			}()
		}
		for range specs {
			if err := <-errs; err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		t.Logf("MEASURED %d rooms, 20 at a time, %s: %s", rooms, what, time.Since(begun).Round(time.Millisecond))
	}
	mark := func(i int, command, want string) error {
		c, err := s.Ensure(t.Context(), specs[i])
		if err != nil {
			return err
		}
		result, err := c.Exec(t.Context(), sandbox.Cmd{Argv: []string{"sh", "-c", command}})
		if got := strings.TrimSpace(string(result.Stdout)); err == nil && got != want {
			err = fmt.Errorf("room %d: %q, want %q", i, got, want)
		}
		return err
	}
	stop := func(i int) error { return s.Stop(t.Context(), sandbox.NameFor(specs[i].Room), specs[i].Room) }
	all("created and marked", func(i int) error { return mark(i, fmt.Sprintf("echo %d >/workspace/n", i), "") })
	all("suspended", stop)
	all("resumed and checked", func(i int) error { return mark(i, "cat /workspace/n", fmt.Sprint(i)) })
	all("suspended again", stop)
}
