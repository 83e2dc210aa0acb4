package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/specgen"
)

// serviceUnder is podman on a service that runs its containers under a runtime called like that, which is podman's own.
func serviceUnder(t *testing.T, name string) *Rooms {
	t.Helper()
	_, real, _, err := needPodman(t).Runtime(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexec "+real+` "$@"`+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := startService(t, "--runtime", path)
	return s.connect()
}

// Under another runtime than the configured one, nothing runs, and no container is started.
func TestAnotherRuntime(t *testing.T) {
	spec := testSpec(t)
	container := ensure(t, spec)
	if container.Outdated {
		t.Error("a container under podman's own runtime is outdated")
	}
	spec.Runtime = GVisor
	container = ensure(t, spec)
	if _, err := container.StartRun(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}); !errors.Is(err, ErrRuntime) || !errors.Is(err, ErrWeak) || !container.Outdated {
		t.Errorf("in a container under podman's own: %v, outdated: %v", err, container.Outdated)
	}
	spec.Fresh = true
	if _, err := testRooms.Ensure(t.Context(), spec); !errors.Is(err, ErrRuntime) {
		t.Errorf("a service that does not use it: %v", err)
	}
	if _, err := containers.Inspect(testPodman.with(t.Context()), NameFor(spec.Room), nil); err == nil {
		t.Error("a container under the wrong runtime is left")
	}
	if err := testPodman.Check(t.Context(), Spec{Image: testImage, Runtime: GVisor}, t.TempDir()); !errors.Is(err, ErrRuntime) {
		t.Error("check:", err)
	}
}

// The name of a runtime does not count: the kernel must be the runtime's. A container of another runtime is replaced.
func TestRuntimeInName(t *testing.T) {
	p := serviceUnder(t, GVisor)
	spec := testSpec(t)
	before := ensure(t, spec)
	spec.Runtime, spec.Fresh = GVisor, true
	container, err := p.Ensure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if !container.Created || container.ID == before.ID || container.Outdated {
		t.Errorf("not replaced: %+v", container)
	}
	_, err = container.StartRun(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}})
	if want := "the kernel is not gVisor's"; !errors.Is(err, ErrWeak) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want: %s", err, want)
	}
}

// What podman builds has the host's network, although it builds with the runtime of its service.
func TestBuildsWithoutGVisor(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "runc"), []byte("#!/bin/sh\necho runc \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("../deploy/host/runsc", "create", "--bundle", "/var/tmp/buildah1", "buildah-buildah1")
	cmd.Env = []string{"PATH=" + dir + ":/bin"}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "runc create --bundle /var/tmp/buildah1 buildah-buildah1\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// The memory limit of a rootless gVisor cannot be seen from inside.
func TestStrengthOfGVisor(t *testing.T) {
	limits, err := Spec{Memory: 1 << 20}.resources(host{controllers: []string{"memory"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		runtime string
		slot    int
		seen    bool
	}{{"", noSlot, true}, {GVisor, 1, true}, {GVisor, noSlot, false}} {
		if got := strength(c.runtime, c.slot, &specgen.SpecGenerator{ContainerResourceConfig: specgen.ContainerResourceConfig{ResourceLimits: limits}}); strings.Contains(got, `"Memory":1048576`) != c.seen {
			t.Errorf("%q in slot %d: %s", c.runtime, c.slot, got)
		}
	}
}
