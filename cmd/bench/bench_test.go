package main

import (
	"os"
	"syscall"
	"testing"
	"time"

	"matrix-tui/bot/bottest/person"
)

func TestSays(t *testing.T) {
	for body, want := range map[string]bool{
		"got 1": true, "got 1\n\n_1 s · 3 tokens_": true,
		"got 11": false, "I got 1": false, "": false,
	} {
		if says(person.Msg{Body: body}, "got 1") != want {
			t.Errorf("%q: %v", body, !want)
		}
	}
}

// The clock of a process by its ID is the one that getrusage reads.
func TestProcessorTime(t *testing.T) {
	own := func() time.Duration {
		t.Helper()
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			t.Fatal(err)
		}
		return time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	for until := time.Now().Add(20 * time.Millisecond); time.Now().Before(until); { // so that there is something to read
	}
	before := own()
	got, err := processorTime(os.Getpid())
	after := own()
	const step = time.Millisecond // getrusage reports whole microseconds
	if err != nil || got < before-step || got > after+step || got < step {
		t.Errorf("%s, %v; want %s to %s", got, err, before, after)
	}
	// Linux has no process ID above 1 << 22.
	if _, err := processorTime(1 << 23); err == nil {
		t.Error("a process that does not exist has processor time")
	}
}

func TestMissed(t *testing.T) {
	var of table
	of.add("before", "ms", 1, 2)
	from := len(of.rows)
	of.add("start → ready", "ms", 5000, 4000, 5001, 4999)
	of.add("no goal", "ms", 0, 5001)
	of.add("not measured", "ms", 1)
	if err := of.missed(from); err != nil {
		t.Error(err)
	}
	of.add("  memory", "MB", 40, 39, 41, 42)
	want := "goal missed: memory: 41 MB, not ≤ 40 MB"
	if err := of.missed(from); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
