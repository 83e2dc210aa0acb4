package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// A stopped container starts although the gateway's directory was swept away.
func TestEnsureMakesGatewayDirectory(t *testing.T) {
	spec := testSpec(t)
	container := ensure(t, spec)
	if err := testPodman.Stop(t.Context(), container.Name); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(spec.Gateway); err != nil {
		t.Fatal(err)
	}
	if again := ensure(t, spec); again.ID != container.ID {
		t.Error("the container was made anew")
	}
	if err := os.WriteFile(filepath.Join(spec.Gateway, "seen"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	sh(t, container, "test -e /run/gateway/seen")
}

// A container whose gateway's directory has moved gets a door at the new place.
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

// A running container whose gateway's directory was removed and made again under it
// gets its door back: what it mounts is the directory of before.
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
		t.Error("a container with its door was started again")
	}
}
