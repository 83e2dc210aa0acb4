package sandbox

import (
	"io"
	"testing"
	"time"
)

// The container of an idle room is stopped, and the next sign of life starts it again.
func TestStopUnused(t *testing.T) {
	spec := testSpec(t)
	container := ensure(t, spec)
	sh(t, container, "echo kept > /etc/kept; echo kept > /workspace/kept")
	stop := func(since time.Time) bool {
		t.Helper()
		stopped, err := testRooms.StopUnused(t.Context(), container.Name, container.Room, since)
		if err != nil {
			t.Fatal(err)
		}
		return stopped
	}
	if last, busy := testRooms.LastUse(container.Name); busy || time.Since(last) > hung || stop(last.Add(-time.Second)) {
		t.Errorf("stopped although it was used after that; last use %v, busy %v", last, busy)
	}
	release := testRooms.Hold(container.Name)
	if stop(time.Now().Add(time.Hour)) {
		t.Error("stopped in the middle of a task")
	}
	release()
	start(t, container, "long", "while [ ! -e /workspace/end ]; do usleep 20000; done")
	followed := make(chan error, 1)
	go func() {
		_, err := container.FollowRun(t.Context(), "long", 0, io.Discard)
		followed <- err
	}()
	until(t, "the run is being followed", func() bool { _, busy := testRooms.LastUse(container.Name); return busy })
	if stop(time.Now().Add(time.Hour)) {
		t.Error("stopped during a run")
	}
	sh(t, container, "touch /workspace/end")
	if err := <-followed; err != nil {
		t.Fatal(err)
	}
	if !stop(time.Now()) {
		t.Error("an unused container was not stopped")
	}
	if there := testRooms.Answering(t.Context(), spec.Room); there != nil {
		t.Error("a stopped container answers")
	}
	if got := infoOf(t, container.Name); got.State != "exited" || got.Started.IsZero() {
		t.Errorf("after the stop: %+v", got)
	}
	if !stop(time.Now()) {
		t.Error("a stopped container is not reported as stopped")
	}
	again := ensure(t, spec)
	until(t, "it answers", func() bool { return testRooms.Answering(t.Context(), spec.Room) != nil })
	if again.Created || !again.Started || again.ID != container.ID {
		t.Errorf("the next Ensure: %+v", again)
	}
	if got := sh(t, again, "cat /etc/kept /workspace/kept"); got != "kept\nkept" {
		t.Errorf("files afterwards: %q", got)
	}
	if stopped, err := testRooms.StopUnused(t.Context(), "sandbox-nobody-00000000", "!nobody", time.Now()); err != nil || !stopped {
		t.Errorf("a container that does not exist: %v, %v", stopped, err)
	}
}

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

func infoOf(t *testing.T, name string) Info {
	t.Helper()
	infos, err := testRooms.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if info.Name == name {
			return info
		}
	}
	t.Fatal("not listed: " + name)
	return Info{}
}
