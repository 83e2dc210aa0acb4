package sandbox

import "testing"

func TestUsageAndRemove(t *testing.T) {
	spec := testSpec(t)
	container := ensure(t, spec)
	sh(t, container, "head -c 3000000 /dev/zero > /workspace/large; head -c 2000000 /dev/zero > /opt-large; head -c 1000000 /dev/zero > /root/large")
	used, err := testRooms.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := used[spec.Room]; n < 6_000_000 || n > 8_000_000 {
		t.Errorf("the room uses %d bytes, want 6,000,000 and a little", n)
	}

	other := testRoom(t)
	if err := testRooms.Remove(t.Context(), container.Name, other, ""); err != nil {
		t.Error(err)
	}
	if still := ensure(t, spec); still.ID != container.ID || still.Started {
		t.Error("another room's container was removed with it")
	}
	if err := testRooms.Remove(t.Context(), container.Name, spec.Room, ""); err != nil {
		t.Fatal(err)
	}
	if there, err := testPodman.HasVolumes(t.Context(), spec.Room); err != nil || !there {
		t.Errorf("the volumes went with the container: %v, %v", there, err)
	}
	for range 2 { // nothing is left to remove the second time
		if err := testRooms.Remove(t.Context(), container.Name, spec.Room, spec.Room); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := testPodman.HasVolumes(t.Context(), spec.Room); err != nil || there {
		t.Errorf("the volumes are still there: %v, %v", there, err)
	}
	again := ensure(t, spec)
	if got := sh(t, again, "ls /workspace /root"); !again.Created || got != "/root:\n\n/workspace:" {
		t.Errorf("invited again, the room has old files: created %v, %q", again.Created, got)
	}
}
