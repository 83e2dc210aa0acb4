package workspace

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStatusLines(t *testing.T) {
	now := time.Date(2026, 2, 24, 2, 45, 31, 0, time.UTC)
	long := strings.Repeat("é", 300)
	tests := []struct{ task, outcome, want string }{
		{"add tests for prime checker", "Created test_utils.py. 5 tests, all passing.",
			"\n[2026-02-24 02:45] Task: add tests for prime checker\n[2026-02-24 02:45] Created test_utils.py. 5 tests, all passing.\n"},
		{"two\nlines\t\x00 and  more", "", "\n[2026-02-24 02:45] Task: two lines and more\n[2026-02-24 02:45] –\n"},
		{long, long, "\n[2026-02-24 02:45] Task: " + strings.Repeat("é", 199) + "…\n[2026-02-24 02:45] " + strings.Repeat("é", 199) + "…\n"},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, StatusLines(now, test.task, test.outcome)); diff != "" {
			t.Error(diff)
		}
	}
	want := "# Status Log\n\n[2026-02-24 02:45] Task: a\n[2026-02-24 02:45] b\n\n[2026-02-24 02:45] Task: c\n[2026-02-24 02:45] d\n"
	if diff := cmp.Diff(want, FirstStatus+StatusLines(now, "a", "b")+StatusLines(now, "c", "d")); diff != "" {
		t.Error(diff)
	}
}

func TestTaskFile(t *testing.T) {
	tests := []struct{ task, want string }{
		{"write @x\n\n", "write @x\n"},
		{"a\x00b\xff\r\nc", "ab\uFFFD\nc\n"},
		{"", "\n"},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, string(TaskFile(test.task))); diff != "" {
			t.Error(diff)
		}
	}
	if got := len(TaskFile(strings.Repeat("€", MaxTask))); got > MaxTask || got < MaxTask-10 {
		t.Errorf("%d bytes", got)
	}
}
