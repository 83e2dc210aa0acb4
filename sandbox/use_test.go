package sandbox

import "testing"

// Whoever holds a container keeps its entry; without holders, a stop drops it, so that there is one per running container.
func TestUses(t *testing.T) {
	var u uses
	first, second := u.begin("a"), u.begin("a")
	first()
	first()
	u.forget("a")
	if u.all["a"] == nil || u.all["a"].active != 1 || u.all["a"].last.IsZero() {
		t.Errorf("one of two holders has released it, twice: %+v", u.all["a"])
	}
	second()
	u.forget("a")
	if len(u.all) != 0 {
		t.Errorf("entries left: %v", u.all)
	}
}
