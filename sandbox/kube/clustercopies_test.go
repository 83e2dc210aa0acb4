//go:build kube

package kube

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"matrix-tui/sandbox"
)

// content is a shell command that shows everything that a copy keeps; of times, that is seconds.
const content = `cd / && find workspace root -type d -printf '%p %m %U:%G\n' | sort &&
find workspace root ! -type d -printf '%p %y %m %U:%G %n %s %l %T@\n' | sed 's/\.[0-9]*$//' | sort &&
find workspace root -type f -size -1000M -exec sha256sum {} + | sort`

// Volumes are copied to another room, byte for byte, and nobody else's are touched.
func TestClusterCopies(t *testing.T) {
	s := newSite(t)
	from, to, other := s.spec(1), s.spec(2), s.spec(3)
	s.cluster.Copies = &Copies{Rooms: s.Rooms, Gate: s.gate}
	open := func(spec sandbox.Spec) *sandbox.Container { // a copy closes the gateway
		t.Helper()
		if _, err := s.gate.Open(spec.Room); err != nil {
			t.Fatal(err)
		}
		return s.ensure(spec)
	}
	c := open(from)
	s.sh(c, `set -e; cd /workspace; echo walnut >'a word'; ln -s 'a word' link; ln 'a word' other; ln -s /etc/passwd outside
mkdir dir; chmod 0711 dir; chown 1000:1001 dir; echo x >dir/"$(printf 'a\nb')"; chown 12:34 dir/*; chmod 4750 dir/*
mkfifo pipe; truncate -s 3G sparse; head -c 60000000 /dev/urandom >random; touch -d 2001-02-03 random; chmod 0 random
mkdir -p /root/.config/x; echo home >/root/.config/x/y; chmod 0600 /root/.config/x/y; : >empty`)
	if from.Runtime == sandbox.GVisor { // keeps it in memory
		s.sh(c, "rm /workspace/pipe")
	}
	want := s.sh(c, content)
	if _, err := c.StartRun(t.Context(), sandbox.RunSpec{ID: "r", Argv: []string{"sleep", "1000"}}); err != nil {
		t.Fatal(err)
	}
	bystander := open(other)
	s.sh(bystander, "echo mine >/workspace/mine")
	pods := func() string {
		return operate(t, "kubectl", "get", "pod", nameOf(bystander.Name), "-o", "jsonpath={.metadata.uid}")
	}
	uid := pods()

	var archive bytes.Buffer
	at := time.Now()
	if err := s.cluster.ExportVolumes(t.Context(), from.Room, from.Image, &archive); err != nil {
		t.Fatal(err)
	}
	t.Logf("MEASURED export of a room, %d MB: %s", archive.Len()>>20, time.Since(at).Round(time.Millisecond))
	c = open(from)
	if got := s.sh(c, content); got != want {
		t.Errorf("an export changes the volumes from\n%s\nto\n%s", want, got)
	}
	if status, err := c.RunStatus(t.Context(), "r"); err != nil || status.State != sandbox.RunInterrupted {
		t.Errorf("what ran meanwhile: %+v, %v", status, err)
	}

	// An import that breaks off is recognized.
	data := archive.Bytes()
	stopped, stop := context.WithCancel(t.Context())
	half := io.MultiReader(bytes.NewReader(data[:len(data)/2]), readFunc(func() error { stop(); return errors.New("stopped") }))
	if err := s.cluster.ImportVolumes(stopped, to.Room, to.Image, half, false); !errors.Is(err, context.Canceled) {
		t.Errorf("half an import: %v", err)
	}
	if err := s.cluster.ImportVolumes(t.Context(), to.Room, to.Image, bytes.NewReader(data), false); !errors.Is(err, sandbox.ErrNotEmpty) {
		t.Errorf("an import into what it has left: %v", err)
	}
	at = time.Now()
	if err := s.cluster.ImportVolumes(t.Context(), to.Room, to.Image, bytes.NewReader(data), true); err != nil {
		t.Fatal(err)
	}
	t.Logf("MEASURED import of it: %s", time.Since(at).Round(time.Millisecond))
	if got := s.sh(open(to), content); got != want {
		t.Errorf("imported:\n%s\nwant\n%s", got, want)
	}
	if got := s.sh(bystander, "cat /workspace/mine"); got != "mine" || pods() != uid {
		t.Errorf("another room has %q, in pod %s, before %s", got, pods(), uid)
	}
}

// readFunc is a reader that fails.
type readFunc func() error

func (f readFunc) Read([]byte) (int, error) { return 0, f() }
