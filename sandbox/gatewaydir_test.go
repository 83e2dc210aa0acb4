package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// A stopped box starts although the gateway's directory was swept away.
func TestEnsureMakesGatewayDirectory(t *testing.T) {
	spec := testSpec(t)
	box := ensure(t, spec)
	if err := testPodman.Stop(t.Context(), box.Name); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(spec.Gateway); err != nil {
		t.Fatal(err)
	}
	if again := ensure(t, spec); again.ID != box.ID {
		t.Error("the box was made anew")
	}
	if err := os.WriteFile(filepath.Join(spec.Gateway, "seen"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	sh(t, box, "test -e /run/gateway/seen")
}

// A box whose gateway's directory has moved gets a door at the new place.
func TestEnsureMovedGateway(t *testing.T) {
	spec := testSpec(t)
	old := ensure(t, spec)
	sh(t, old, "echo kept > /workspace/file")
	spec.Gateway = filepath.Join(t.TempDir(), "elsewhere")
	box := ensure(t, spec)
	if !box.Created || box.ID == old.ID {
		t.Errorf("%+v", box)
	}
	if got := sh(t, box, "cat /workspace/file"); got != "kept" {
		t.Errorf("file holds %q", got)
	}
}

// A running box whose gateway's directory was removed and made again under it
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
	box := ensure(t, spec)
	if box.Created || !box.Started || box.ID != old.ID {
		t.Errorf("%+v", box)
	}
	if err := os.WriteFile(filepath.Join(spec.Gateway, "seen"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	sh(t, box, "test -e /run/gateway/seen")
	if again := ensure(t, spec); again.Started {
		t.Error("a box with its door was started again")
	}
}
