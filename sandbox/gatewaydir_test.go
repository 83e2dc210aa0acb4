package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A stopped container starts even if the gateway's directory was removed.
func TestEnsureMakesGatewayDirectory(t *testing.T) {
	spec := testSpec(t)
	container := ensure(t, spec)
	if err := testPodman.Stop(t.Context(), container.Name, container.Room); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(spec.Gateway); err != nil {
		t.Fatal(err)
	}
	if again := ensure(t, spec); again.ID != container.ID {
		t.Error("the container was recreated")
	}
	if err := os.WriteFile(filepath.Join(spec.Gateway, "seen"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	sh(t, container, "test -e /run/gateway/seen")
}

// A container whose gateway directory has moved is connected to the new one.
func TestEnsureMovedGateway(t *testing.T) {
	spec := testSpec(t)
	old := ensure(t, spec)
	sh(t, old, "echo kept > /workspace/file")
	spec.Gateway = filepath.Join(t.TempDir(), "elsewhere")
	container := ensure(t, spec)
	if !container.Created || container.ID == old.ID {
		t.Errorf("%+v", container)
	}
	if got := sh(t, container, "cat /workspace/file"); got != "kept" {
		t.Errorf("file holds %q", got)
	}
}

// A running container whose gateway directory was removed and created again is connected to the new one: until then it
// mounts the old directory.
func TestEnsureReplacedGateway(t *testing.T) {
	spec := testSpec(t)
	old := ensure(t, spec)
	if err := os.RemoveAll(spec.Gateway); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(spec.Gateway, 0o755); err != nil {
		t.Fatal(err)
	}
	container := ensure(t, spec)
	if container.Created || !container.Started || container.ID != old.ID {
		t.Errorf("%+v", container)
	}
	if err := os.WriteFile(filepath.Join(spec.Gateway, "seen"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	sh(t, container, "test -e /run/gateway/seen")
	if again := ensure(t, spec); again.Started {
		t.Error("a connected container was restarted")
	}
}

func TestBornAfter(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	if bornAfter(dir, now.Add(time.Second)) || !bornAfter(dir, now.Add(-time.Hour)) || !bornAfter(dir+"/missing", now) {
		t.Error("a directory's age is judged wrongly")
	}
}
