package queue

import "testing"

// Only the newest value of a key waits, and only one goroutine takes values.
func TestNewest(t *testing.T) {
	var n Newest
	if n.Add(nil) {
		t.Error("there is something to take")
	}
	if !n.Add(map[string]string{"a": "2", "b": "3"}) {
		t.Error("nobody takes the values")
	}
	if n.Add(map[string]string{"a": "4"}) {
		t.Error("two goroutines take values")
	}
	got := map[string]bool{}
	for want := 2; want > 0; want-- {
		key, value, all := n.Next()
		if all != want {
			t.Errorf("%d values are waiting, want %d", all, want)
		}
		got[key+value] = true
	}
	if !got["a4"] || !got["b3"] {
		t.Errorf("taken: %v", got)
	}
	if _, _, all := n.Next(); all != 0 {
		t.Errorf("%d are left", all)
	}
	if !n.Add(map[string]string{"a": "5"}) {
		t.Error("nobody takes the values any more")
	}
}
