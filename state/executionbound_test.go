package state

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFinishedExecutionsAreBounded(t *testing.T) {
	ids := func(from, n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint(from+i))
		}
		return out
	}
	const kib = 1 << 10
	tests := []struct {
		name string
		put  func(put func(id int, status string, size int))
		want []string
	}{
		{"the newest twenty stay", func(put func(int, string, int)) {
			for i := range 30 {
				put(i, []string{"completed", "failed"}[i%2], 100)
			}
		}, ids(10, 20)},
		{"the newest 256 KiB stay", func(put func(int, string, int)) {
			for i := range 10 {
				put(i, "completed", 50*kib)
			}
		}, ids(5, 5)},
		{"the very bound", func(put func(int, string, int)) {
			for i := range 9 {
				put(i, "failed", 32*kib)
			}
		}, ids(1, 8)},
		{"the newest stays, however long", func(put func(int, string, int)) {
			put(0, "completed", 10)
			put(1, "completed", 2*MaxFinishedBytes)
		}, ids(1, 1)},
		{"a long one goes with the next", func(put func(int, string, int)) {
			put(0, "completed", 2*MaxFinishedBytes)
			put(1, "completed", 10)
		}, ids(1, 1)},
		{"one that grows makes older ones go", func(put func(int, string, int)) {
			for i := range 8 {
				put(i, "completed", 32*kib)
			}
			put(7, "completed", 64*kib)
		}, ids(1, 7)},
		{"those that are not finished stay", func(put func(int, string, int)) {
			for i, status := range []string{"pending", "running", "waiting_for_input", "of a later release"} {
				put(i, status, MaxFinishedBytes/3) // four exceed the bound
			}
			for i := range 30 {
				put(i+4, "completed", 100)
			}
		}, append(ids(0, 4), ids(14, 20)...)},
		{"one that ran for long is new when it is finished", func(put func(int, string, int)) {
			put(0, "running", 100)
			put(1, "waiting_for_input", 100)
			for i := range 20 {
				put(i+2, "completed", 100)
			}
			put(0, "failed", 100)
			put(0, "failed", 101)
		}, append([]string{"1"}, append(ids(3, 19), "0")...)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, dir)
			putExecution(t, s, "!other", one("other", "completed", 100))
			test.put(func(id int, status string, size int) {
				putExecution(t, s, "!r", one(fmt.Sprint(id), status, size))
			})
			for range 2 {
				if diff := cmp.Diff(test.want, sessionsOf(t, s, "!r")); diff != "" {
					t.Error(diff)
				}
				if got, want := len(s.now.roomOf), len(test.want)+1; got != want {
					t.Errorf("%d can be found, want %d", got, want)
				}
				s = openStore(t, dir)
			}
		})
	}
}
