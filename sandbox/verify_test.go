package sandbox

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/specgen"
	rspec "github.com/opencontainers/runtime-spec/specs-go"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"matrix-tui/state/sentence"
)

// A setting that is lost on its way to the kernel, as podman's API loses some without an
// error, is noticed from inside, and nothing runs.
func TestWeakContainerRunsNothing(t *testing.T) {
	everything := []string{"no seccomp filter is active", "the seccomp profile is not the bot's", "no_new_privs is not set", "the capabilities CapBnd", "there is a network interface",
		"the memory limit of", "the limit of 128 processes", "the limit of 100 % of a processor", "the limit of 4096 open files",
		"there is a mount at /extra", "the mount at /run/gateway is not noexec", "the mount at /run/gateway is not ro"}
	if !rootless(t) { // there, podman's own user namespace stays
		everything = append(everything, "the uid_map is", "the gid_map is")
	}
	for name, c := range map[string]struct {
		lose func(*specgen.SpecGenerator)
		want []string
	}{
		"seccomp profile": {func(g *specgen.SpecGenerator) { g.SeccompProfilePath = "" }, []string{"the seccomp profile is not the bot's"}},
		"another profile": {func(g *specgen.SpecGenerator) { g.SeccompProfilePath = otherProfile(t, g.SeccompProfilePath) }, []string{"the seccomp profile is not the bot's"}},
		"everything": {func(g *specgen.SpecGenerator) {
			g.SeccompProfilePath, g.NoNewPrivileges, g.CapDrop = "unconfined", nil, nil
			g.NetNS.NSMode = specgen.Host
			*g.ResourceLimits.Memory.Limit, *g.ResourceLimits.Memory.Swap, g.ResourceLimits.Pids.Limit = 512<<20, 512<<20, 256
			*g.ResourceLimits.CPU.Quota *= 2
			g.Rlimits[0].Hard = 2 * leastFiles
			g.Mounts[0].Options = []string{"bind", "rw"}
			g.Mounts = append(g.Mounts, rspec.Mount{Destination: "/extra", Source: t.TempDir(), Type: "bind"})
			g.IDMappings, g.UserNS.NSMode = nil, specgen.Host
		}, everything},
	} {
		t.Run(name, func(t *testing.T) {
			spec := testSpec(t)
			weakly(t, spec, c.lose)
			container := ensure(t, spec)
			_, err := container.Run(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}, io.Discard, func(bool) { t.Error("it was started") })
			if !errors.Is(err, ErrWeak) || !strings.Contains(sentence.Text(err), "less isolated") {
				t.Fatalf("%v, want ErrWeak", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want also: %s", err, want)
				}
			}
			if status, err := container.RunStatus(t.Context(), "r"); err != nil || status.State != RunNone {
				t.Errorf("run: %+v, %v", status, err)
			}
		})
	}
}

// An image whose boxinit does not know how to carry out an operation runs nothing.
func TestOldImage(t *testing.T) {
	container := beside(testContainer(t))
	sh(t, container, `cd /usr/bin; mv boxinit other; printf '#!/bin/sh\necho usage: boxinit >&2; exit 2' >boxinit; chmod +x boxinit`)
	begun := false
	_, err := container.Run(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}, io.Discard, func(bool) { begun = true })
	if !errors.Is(err, ErrWeak) || !strings.Contains(sentence.Text(err), "./deploy/image/build") || begun {
		t.Errorf("%v, want ErrWeak; begun: %v", err, begun)
	}
}

// Two processes check at the same time, such as two doctors or a doctor and an installer.
func TestCheck(t *testing.T) {
	needPodman(t)
	spec := Spec{Image: testImage, Memory: 256 << 20, PIDs: 128}
	version := "check-" + rand.Text()
	var checks errgroup.Group
	for range 2 {
		p, err := Connect(t.Context(), "", zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		p.Place.Version = version
		checks.Go(func() error { return p.Check(t.Context(), spec, t.TempDir()) })
	}
	if err := checks.Wait(); err != nil {
		t.Error(err)
	}
	options := new(containers.ListOptions).WithAll(true).WithFilters(map[string][]string{"label": {labelVersion + "=" + version}})
	if left, err := containers.List(testPodman.with(t.Context()), options); err != nil || len(left) > 0 {
		t.Errorf("its container is still there: %v, %v", left, err)
	}
}

// otherProfile is one that refuses almost the same.
func otherProfile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mark := strconv.Itoa(theProfile().mark)
	data = bytes.Replace(data, []byte(mark), []byte("1"), 1)
	path = filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// weakly creates the container of a spec as Ensure would, less something.
func weakly(t *testing.T, spec Spec, lose func(*specgen.SpecGenerator)) {
	t.Helper()
	p := testPodman
	spec.Name = NameFor(spec.Room)
	imageID, err := p.ImageID(t.Context(), spec.Image)
	if err != nil {
		t.Fatal(err)
	}
	names, slot, err := p.volumes.ensure(t.Context(), spec.Room)
	if err != nil {
		t.Fatal(err)
	}
	here := placed{Spec: spec, gateway: testDoors.Folder(spec.Room), volumes: names}
	limits, err := spec.resources(hostOf(t))
	if err != nil {
		t.Fatal(err)
	}
	g := here.generator(imageID, slot, limits)
	if g.SeccompProfilePath, err = writeProfile(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	lose(g)
	if _, err := containers.CreateWithSpec(p.with(t.Context()), g, nil); err != nil {
		t.Fatal(err)
	}
}

// A container that an earlier version created says so, runs nothing, and is created again
// between two tasks.
func TestContainerOfEarlierVersion(t *testing.T) {
	spec := testSpec(t)
	weakly(t, spec, func(g *specgen.SpecGenerator) {
		delete(g.Labels, labelProfile)
		delete(g.Labels, labelStrength)
		delete(g.Labels, labelOperations)
	})
	container := ensure(t, spec)
	if _, err := container.StartRun(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}); !errors.Is(err, ErrWeak) || !container.Outdated {
		t.Errorf("%v, outdated: %v", err, container.Outdated)
	}
	if status, err := container.RunStatus(t.Context(), "r"); err != nil || status.State != RunInterrupted {
		t.Errorf("a run that it has started: %+v, %v", status, err)
	}
	spec.Fresh = true
	container = ensure(t, spec)
	if _, err := container.StartRun(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}); err != nil || container.Outdated || !container.Created {
		t.Errorf("%v, %+v", err, container)
	}
}
