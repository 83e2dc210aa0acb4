package sandbox

import "testing"

// Podman cannot count while containers are removed all the time, so this is no part of the contract's table.
func TestUsage(t *testing.T) {
	spec := testSpec(t)
	sh(t, ensure(t, spec), "head -c 3000000 /dev/zero > /workspace/large; head -c 2000000 /dev/zero > /opt-large; head -c 1000000 /dev/zero > /root/large")
	used, err := testRooms.Usage(t.Context())
	if n := used[spec.Room]; err != nil || n < 6_000_000 || n > 8_000_000 {
		t.Errorf("the room uses %d bytes, want 6,000,000 and a little: %v", n, err)
	}
}
