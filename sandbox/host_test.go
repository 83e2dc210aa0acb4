package sandbox

import "testing"

// Podman says enough about every host to create containers.
func TestHost(t *testing.T) {
	h := hostOf(t)
	for _, needed := range []string{"memory", "cpu", "pids"} {
		if !h.can(needed) {
			t.Errorf("no controller %s: %+v", needed, h)
		}
	}
	if storage, err := testPodman.Storage(t.Context()); err != nil || storage == "" {
		t.Errorf("%q, %v", storage, err)
	}
}
