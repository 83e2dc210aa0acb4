package queue

import "testing"

// A key has one value waiting, the newest; only one takes them out.
func TestNewest(t *testing.T) {
	var n Newest
	if n.Add(nil) {
		t.Error("something is to be taken out")
	}
	if !n.Add(map[string]string{"a": "2", "b": "3"}) {
		t.Error("nobody takes them out")
	}
	if n.Add(map[string]string{"a": "4"}) {
		t.Error("two take them out")
	}
	got := map[string]bool{}
	for want := 2; want > 0; want-- {
		key, value, all := n.Next()
		if all != want {
			t.Errorf("%d wait, not %d", all, want)
		}
		got[key+value] = true
	}
	if !got["a4"] || !got["b3"] {
		t.Errorf("taken out: %v", got)
	}
	if _, _, all := n.Next(); all != 0 {
		t.Errorf("%d are left", all)
	}
	if !n.Add(map[string]string{"a": "5"}) {
		t.Error("nobody takes them out any more")
	}
}
