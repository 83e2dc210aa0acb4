package host

import "testing"

// A child that a process has forked, and that has not executed anything yet, is not another Gemini.
func TestForkedProcesses(t *testing.T) {
	found := processes{}
	stat := func(parent, start string) string {
		return "1 (node) S " + parent + " 0 0 0 0 0 0 0 0 0 3 4 0 0 0 0 0 0 " + start + " 0"
	}
	found.add("12", stat("5", "700"))
	found.add("13", stat("12", "900"))
	found.add("20", stat("5", "800"))
	found.add("21", "")
	if got := found.String(); got != "12 700 3+4\n20 800 3+4" {
		t.Errorf("%q", got)
	}
}
