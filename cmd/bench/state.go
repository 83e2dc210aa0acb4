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
	got := parseBenchmarks(out)
	if len(got) == 0 {
		return nil, fmt.Errorf("package %s has no benchmark %s", pkg, pattern)
	}
	return got, nil
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
