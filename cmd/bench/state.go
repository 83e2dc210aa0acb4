package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// measureState runs the benchmarks of package state; each sample is the mean of
// ten operations.
func measureState(ctx context.Context, b *bench) error {
	got, err := b.benchmarks(ctx, "matrix-tui/state", "^Benchmark(StoreSave1000Rooms|JournalCommit100)$",
		10, nil)
	if err != nil {
		return err
	}
	b.table.add("state.json saved, 1,000 rooms × 50 turns", "ms", 100, scaled(got["StoreSave1000Rooms ns/op"], 1e-6)...)
	b.table.add("journal commit of 100 events", "ms", 20, scaled(got["JournalCommit100 ns/op"], 1e-6)...)
	return nil
}

// measureMessage runs the benchmark of a message's cost without its task.
func measureMessage(ctx context.Context, b *bench) error {
	got, err := b.benchmarks(ctx, "matrix-tui/bot", "^BenchmarkMessage$", 1000, nil)
	b.table.add("one message: decided, and its answer formatted", "ms", 1, scaled(got["Message ns/op"], 1e-6)...)
	return err
}

// measureHardening runs the benchmark of a container's start with and without what hardens it; each sample is the mean
// of two starts of each kind.
func measureHardening(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, "hardening")
	if err != nil {
		return err
	}
	defer s.close(&err)
	got, err := b.benchmarks(ctx, "matrix-tui/sandbox", "^BenchmarkHardening$", 1,
		[]string{"CONTAINER_HOST=unix://" + s.Socket(), "SANDBOX_IMAGE=" + b.host.Image()})
	if err != nil {
		return err
	}
	b.table.add("a container created, started and used once, hardened", "ms", 0, got["Hardening hardened-ms"]...)
	b.table.add("the same with podman's seccomp profile, boxinit of the image, and no verification", "ms", 0,
		got["Hardening podmans-ms"]...)
	b.table.add("the same without any seccomp profile", "ms", 0, got["Hardening unconfined-ms"]...)
	b.table.add("what hardening adds to a start with podman's profile (pair by pair)", "ms", 20,
		got["Hardening more-than-podmans-ms"]...)
	b.table.add("what it adds to a start without a profile (pair by pair)", "ms", 0,
		got["Hardening more-than-unconfined-ms"]...)
	return nil
}

// benchmarks runs benchmarks of a package and returns the samples of each "Name
// unit"; each sample is the mean of a number of operations. env is on top of the environment.
func (b *bench) benchmarks(ctx context.Context, pkg, pattern string, operations int,
	env []string) (map[string][]float64, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-trimpath", "-run=^$", "-bench="+pattern,
		fmt.Sprintf("-benchtime=%dx", operations), "-count="+strconv.Itoa(b.n), pkg)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go test -bench in %s: %w\n%s%s", pkg, err, out, stderr.Bytes())
	}
	return parseBenchmarks(out), nil
}

// parseBenchmarks parses the output of `go test -bench`: the samples of each "Name unit".
func parseBenchmarks(out []byte) map[string][]float64 {
	got := map[string][]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(fields[0], "Benchmark"), "-")
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				key := name + " " + fields[i+1]
				got[key] = append(got[key], v)
			}
		}
	}
	return got
}

func scaled(values []float64, by float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v * by
	}
	return out
}
