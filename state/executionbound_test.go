package state

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/disk"
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
		{"the newest twenty stay, however long", func(put func(int, string, int)) {
			for i := range 30 {
				put(i, "completed", 50*kib)
			}
		}, ids(10, 20)},
		{"the newest stays, however long", func(put func(int, string, int)) {
			put(0, "completed", 10)
			put(1, "completed", 2*MaxFinishedBytes)
		}, ids(0, 2)},
		{"a long one stays with the next", func(put func(int, string, int)) {
			put(0, "completed", 2*MaxFinishedBytes)
			put(1, "completed", 10)
		}, ids(0, 2)},
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
				size := 0
				for _, raw := range s.Executions.In("!r")[:len(test.want)-1] { // the newest one is kept as it is
					if size += len(raw); !json.Valid(raw) {
						t.Errorf("%s is no JSON", raw)
					}
				}
				if size > 2*MaxFinishedBytes && !strings.Contains(test.name, "not finished") {
					t.Errorf("they take %d bytes", size)
				}
				s = openStore(t, dir)
			}
		})
	}
}

// A shortened execution keeps its keys and the beginning of each text.
func TestShorten(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	list := []string{}
	for i := range 64 {
		list = append(list, fmt.Sprint(i, long[:1<<16]))
	}
	raw := disk.JSON(map[string]any{"session_id": "a", "state": "completed", "transcript": list, "answers": []any{map[string]any{"answer": long, "by": "@a:b"}}, "updated_at": "2026", "n": 12345678901234567})
	got := disk.Shorten(raw, 4<<10)
	var e struct {
		ID         string `json:"session_id"`
		N          json.Number
		Transcript []string
		Answers    []struct{ Answer, By string }
	}
	if err := json.Unmarshal(got, &e); err != nil || len(got) > 4<<10 {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if e.ID != "a" || e.N != "12345678901234567" || !strings.HasPrefix(e.Transcript[0], "0é") || !strings.Contains(e.Answers[0].Answer, "left out") || e.Answers[0].By != "@a:b" {
		t.Errorf("shortened to %s", got)
	}
	if small := json.RawMessage(`{"session_id": "a"}`); string(disk.Shorten(small, 100)) != string(small) {
		t.Error("a short one was changed")
	}
}
