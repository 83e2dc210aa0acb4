package sandbox

import (
	"context"
	"io"
	"os"
	"strconv"
	"testing"
)

// benchSpec is a box of the image that the product uses, where it is there.
func benchSpec(b *testing.B) Spec {
	spec := testSpec(b)
	if image := os.Getenv("SANDBOX_IMAGE"); image != "" {
		spec.Image = image
	} else if _, err := testPodman.ImageID(b.Context(), "localhost/matrix-tui-sandbox:latest"); err == nil {
		spec.Image = "localhost/matrix-tui-sandbox:latest"
	}
	return spec
}

// BenchmarkCreate makes and starts a box with its volumes, of a new room each time.
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

func benchBox(b *testing.B) (*Box, Spec) {
	spec := benchSpec(b)
	box, err := testPodman.Ensure(b.Context(), spec)
	if err != nil {
		b.Fatal(err)
	}
	return box, spec
}

func BenchmarkEnsureRunning(b *testing.B) {
	_, spec := benchBox(b)
	for b.Loop() {
		if _, err := testPodman.Ensure(b.Context(), spec); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStartRun starts runs; it does not wait for their ends.
func BenchmarkStartRun(b *testing.B) {
	box, _ := benchBox(b)
	for i := 0; b.Loop(); i++ {
		if _, err := box.StartRun(b.Context(), RunSpec{ID: "r" + strconv.Itoa(i), Argv: []string{"true"}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFollowRun follows a run that has ended.
func BenchmarkFollowRun(b *testing.B) {
	box, _ := benchBox(b)
	if _, err := box.StartRun(b.Context(), RunSpec{ID: "r", Argv: []string{"echo", "hello"}}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := box.FollowRun(b.Context(), "r", 0, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExec(b *testing.B) {
	box, _ := benchBox(b)
	for b.Loop() {
		if _, err := box.Exec(context.Background(), Cmd{Argv: []string{"true"}}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList(b *testing.B) {
	benchBox(b)
	for b.Loop() {
		if _, err := testPodman.List(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
