package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/specgen"

	"matrix-tui/state/sentence"
)

// On a host without cgroup controllers, no container is created unless the settings ask for no limits.
func TestEnsureWithoutControllers(t *testing.T) {
	needPodman(t)
	info, err := testPodman.info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known, on := *info, *info.Host
	known.Host, on.CgroupControllers = &on, nil
	bare := roomsAt(t, testPodman.Socket(), testPodman.Place)
	bare.Engine.(*Podman).known = &known
	spec := testSpec(t)
	if _, err := bare.Ensure(t.Context(), spec); !errors.Is(err, ErrUnlimited) || !strings.Contains(sentence.Text(err), "cannot limit all") {
		t.Errorf("%v, want ErrUnlimited", err)
	}
	if err := bare.Engine.(*Podman).Limited(t.Context(), spec); !errors.Is(err, ErrUnlimited) {
		t.Errorf("asked about the host: %v, want ErrUnlimited", err)
	}
	if err := bare.Engine.(*Podman).Check(t.Context(), spec, t.TempDir()); !errors.Is(err, ErrUnlimited) {
		t.Errorf("check: %v, want ErrUnlimited", err)
	}
	if _, err := containers.Inspect(testPodman.with(t.Context()), NameFor(spec.Room), nil); err == nil {
		t.Error("a container was created")
	}
	spec.Memory, spec.CPUs, spec.PIDs = 0, 0, 0
	container, err := bare.Ensure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := container.StartRun(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}); err != nil {
		t.Error(err)
	}
	spec.Memory, spec.Fresh = 256<<20, true
	if _, err := bare.Ensure(t.Context(), spec); !errors.Is(err, ErrUnlimited) {
		t.Errorf("%v, want ErrUnlimited", err)
	}
	if left, err := containers.Inspect(testPodman.with(t.Context()), NameFor(spec.Room), nil); err != nil || left.ID != container.ID {
		t.Errorf("the container is gone, although there can be no other: %v", err)
	}
}

// A runtime that cannot set a limit does not start the container, and nothing starts it without. Once the settings ask for
// no limits, it is created again.
func TestRuntimeRefusesLimits(t *testing.T) {
	_, real, _, err := needPodman(t).Runtime(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "limitless")
	script := `#!/bin/sh
bundle=
for arg; do [ "$last" != --bundle ] || bundle=$arg; last=$arg; done
if [ -n "$bundle" ] && grep -q '"quota":100000' "$bundle/config.json"; then
	echo "cannot set the cgroup controller cpu" >&2
	exit 1
fi
exec ` + real + ` "$@"
`
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	p := startService(t, "--runtime", path).connect()
	spec := testSpec(t)
	for range 2 { // the second time it exists
		if _, err := p.Ensure(t.Context(), spec); !errors.Is(err, ErrUnlimited) {
			t.Fatalf("%v, want ErrUnlimited", err)
		}
	}
	spec.CPUs = 0
	container, err := p.Ensure(t.Context(), spec)
	if err != nil || !container.Created {
		t.Errorf("%+v, %v", container, err)
	}
}

// A container that was created without limits runs nothing, and is created again between two tasks.
func TestContainerWithoutLimits(t *testing.T) {
	spec := testSpec(t)
	weakly(t, spec, func(g *specgen.SpecGenerator) { g.ResourceLimits = nil })
	container := ensure(t, spec)
	if _, err := container.StartRun(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}); !errors.Is(err, ErrUnlimited) || !container.Outdated {
		t.Errorf("%v, outdated: %v", err, container.Outdated)
	}
	spec.Fresh = true
	container = ensure(t, spec)
	if _, err := container.StartRun(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}); err != nil || container.Outdated || !container.Created {
		t.Errorf("%v, %+v", err, container)
	}
}
