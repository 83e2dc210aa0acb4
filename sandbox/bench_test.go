package sandbox

import (
	"context"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/containers/podman/v5/pkg/bindings/containers"

	"matrix-tui/sandbox/boxinit"
)

// benchSpec is a container of the product's image, if that exists.
func benchSpec(b *testing.B) Spec {
	spec := testSpec(b)
	if image := os.Getenv("SANDBOX_IMAGE"); image != "" {
		spec.Image = image
	} else if _, err := testPodman.ImageID(b.Context(), "localhost/matrix-tui-sandbox:latest"); err == nil {
		spec.Image = "localhost/matrix-tui-sandbox:latest"
	}
	return spec
}

// BenchmarkCreate creates and starts a container with its volumes, for a new room each time.
func BenchmarkCreate(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		spec := benchSpec(b)
		b.StartTimer()
		if _, err := testPodman.Ensure(b.Context(), spec); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		sweep(b, testPodman, spec.Room, NameFor(spec.Room))
		b.StartTimer()
	}
}

// The seccomp profiles of BenchmarkHardening: ours with the rest of hardening, podman's, and none.
const (
	ourProfile    = "hardened"
	podmanProfile = ""
	noProfile     = "unconfined"
)

// BenchmarkHardening measures what hardening adds to the start of a container: our seccomp profile, boxinit from the host,
// and that it verifies the container from inside. In turns, a container is created, started and runs a first command with
// all of that and without; volumes and image are the same.
func BenchmarkHardening(b *testing.B) {
	spec := benchSpec(b)
	spec.Inits = b.TempDir()
	if err := os.Chmod(spec.Inits, 0o755); err != nil {
		b.Fatal(err)
	}
	ensure(b, spec) // the first one makes the volumes and copies boxinit
	took := map[string]time.Duration{}
	for b.Loop() {
		for _, profile := range []string{ourProfile, podmanProfile, noProfile, noProfile, podmanProfile, ourProfile} {
			took[profile] += firstCommand(b, spec, profile)
		}
	}
	report := func(d time.Duration, unit string) { b.ReportMetric(d.Seconds()*1000/float64(2*b.N), unit) }
	report(took[ourProfile], "hardened-ms")
	report(took[podmanProfile], "podmans-ms")
	report(took[noProfile], "unconfined-ms")
	report(took[ourProfile]-took[podmanProfile], "more-than-podmans-ms")
	report(took[ourProfile]-took[noProfile], "more-than-unconfined-ms")
}

// firstCommand returns how long it takes to create and start a container and to run a command in it.
func firstCommand(b *testing.B, spec Spec, profile string) time.Duration {
	p, ctx := testPodman, b.Context()
	imageID, err := p.ImageID(ctx, spec.Image)
	if err != nil {
		b.Fatal(err)
	}
	names, slot, err := p.volumesFor(ctx, spec.Room)
	if err != nil {
		b.Fatal(err)
	}
	spec.volumes = names
	limits, err := spec.resources(hostOf(b))
	if err != nil {
		b.Fatal(err)
	}
	run := RunSpec{ID: "r", Argv: []string{"true"}}
	e := ensuring{Podman: p, spec: spec}
	e.spec.Name = NameFor(spec.Room) + "-bench"
	defer sweep(b, p, spec.Room+"-bench", e.spec.Name)
	begun := time.Now()
	if profile == ourProfile {
		if e.spec.init, err = e.initFile(ctx, imageID); err != nil {
			b.Fatal(err)
		}
	}
	g := e.spec.generator(imageID, slot, limits)
	if g.SeccompProfilePath = profile; profile == ourProfile {
		path, remove, err := writeProfile(spec.Gateway)
		if err != nil {
			b.Fatal(err)
		}
		defer remove()
		g.SeccompProfilePath = path
	}
	made, err := containers.CreateWithSpec(p.with(ctx), g, nil)
	if err == nil {
		err = containers.Start(p.with(ctx), made.ID, nil)
	}
	if err != nil {
		b.Fatal(err)
	}
	container := Container{ID: made.ID, Name: e.spec.Name, podman: p, strength: g.Labels[labelStrength], init: g.Entrypoint[0]}
	if profile == ourProfile {
		_, err = container.StartRun(ctx, run)
	} else {
		container.strength = ""
		_, err = container.short(ctx, "start run", boxinit.Request{Op: boxinit.OpRun, Run: &run}, nil)
	}
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(begun)
}

func benchContainer(b *testing.B) (*Container, Spec) {
	spec := benchSpec(b)
	container, err := testPodman.Ensure(b.Context(), spec)
	if err != nil {
		b.Fatal(err)
	}
	return container, spec
}

func BenchmarkEnsureRunning(b *testing.B) {
	_, spec := benchContainer(b)
	for b.Loop() {
		if _, err := testPodman.Ensure(b.Context(), spec); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStartRun starts runs without waiting for them to end.
func BenchmarkStartRun(b *testing.B) {
	container, _ := benchContainer(b)
	for i := 0; b.Loop(); i++ {
		if _, err := container.StartRun(b.Context(), RunSpec{ID: "r" + strconv.Itoa(i), Argv: []string{"true"}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFollowRun follows a run that has ended.
func BenchmarkFollowRun(b *testing.B) {
	container, _ := benchContainer(b)
	if _, err := container.StartRun(b.Context(), RunSpec{ID: "r", Argv: []string{"echo", "hello"}}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := container.FollowRun(b.Context(), "r", 0, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExec(b *testing.B) {
	container, _ := benchContainer(b)
	for b.Loop() {
		if _, err := container.Exec(context.Background(), Cmd{Argv: []string{"true"}}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList(b *testing.B) {
	benchContainer(b)
	for b.Loop() {
		if _, err := testPodman.List(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
