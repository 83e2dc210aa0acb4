package command

import "testing"

// What follows a list is not part of its last item.
func TestEndLists(t *testing.T) {
	if got, want := endLists("left:\n- a\n- b\nno - c\n- d"), "left:\n- a\n- b\n\nno - c\n- d"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
