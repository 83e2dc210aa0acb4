package sandbox

import (
	"context"
	"io"
	"os"
	"strconv"
	"testing"
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
		if _, err := testRooms.Ensure(b.Context(), spec); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		sweep(b, testPodman, spec.Room, NameFor(spec.Room))
		b.StartTimer()
	}
}

func benchContainer(b *testing.B) (*Container, Spec) {
	spec := benchSpec(b)
	container, err := testRooms.Ensure(b.Context(), spec)
	if err != nil {
		b.Fatal(err)
	}
	return container, spec
}

func BenchmarkEnsureRunning(b *testing.B) {
	_, spec := benchContainer(b)
	for b.Loop() {
		if _, err := testRooms.Ensure(b.Context(), spec); err != nil {
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
		if _, err := testRooms.List(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
